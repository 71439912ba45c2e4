"""Which differences of two fingerprints change what the numbers mean, and which only move last digits."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.extraction.fingerprint import fingerprint
from pipeline.store.provenance import ROUNDING, differences, other_meaning
from tests.store.making import toy

RECORD = fingerprint(toy(), weights="aa", preprocessing={"mean": [0.5]}, code=1, device="cpu")


def changed(field: str, value: Any) -> dict[str, Any]:
    """The record with another value at `a.b`."""
    name, _, rest = field.partition(".")
    return {**RECORD, name: {**RECORD[name], rest: value} if rest else value}


@pytest.mark.parametrize("field", ["device", "libraries.torch", "libraries.new", "decoders.decord", "decoders.pyav"])
def test_another_device_library_or_decoder_is_rounding(field: str) -> None:
    other = changed(field, "9.9")

    assert [name for name, *_ in differences(RECORD, other)] == [field]
    assert other_meaning(RECORD, other) == []


@pytest.mark.parametrize(
    "field", ["weights", "dtype", "layers", "sampling.count", "preprocessing.mean", "extractor.code", "extractor.batch"]
)
def test_everything_else_is_another_meaning(field: str) -> None:
    other = changed(field, "x")

    found = other_meaning(RECORD, other)

    assert found == differences(RECORD, other)
    assert [name for name, *_ in found] == [field]


def test_a_rounding_field_beside_another_does_not_hide_it() -> None:
    other = {**changed("weights", "bb"), "device": "cuda", "extractor": {**RECORD["extractor"], "device": "cuda"}}

    assert [name for name, *_ in other_meaning(RECORD, other)] == ["extractor.device", "weights"]


def test_every_field_of_a_fingerprint_is_on_one_side() -> None:
    """So that a new field, or a renamed one, is decided here and not by chance."""
    meaning = {"extractor", "weights", "preprocessing", "sampling", "layers", "dtype"}

    assert set(RECORD) == meaning | set(ROUNDING)


def test_a_field_that_one_of_them_lacks_is_a_difference() -> None:
    more = {"dtype": "float16", "sampling": {"count": 3, "fps": 2.0}}
    less = {"dtype": "float16", "sampling": {"count": 3}}

    assert differences(more, less) == [("sampling.fps", 2.0, None)]
    assert differences(less, more) == [("sampling.fps", None, 2.0)]
    assert differences(more, dict(more)) == []
