"""The record of all that decides a feature: whatever changes, one field tells."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.hashing import record_sha256
from pipeline.extraction.build_extractor import make_task
from pipeline.extraction.fingerprint import fingerprint, video_record
from pipeline.store.provenance import differences
from tests.store.making import toy


def record(**changes: Any) -> dict[str, Any]:
    facts = {"weights": "aa", "preprocessing": {"mean": [0.5]}, "code": 1, "device": "cpu"}
    facts |= {name: changes.pop(name) for name in list(changes) if name in facts}
    return fingerprint(toy(**changes), **facts)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"weights": "bb"}, "weights"),
        ({"preprocessing": {"mean": [0.4]}}, "preprocessing.mean"),
        ({"code": 2}, "extractor.code"),
        ({"device": "cuda:1"}, "device"),
        ({"family": "frames"}, "extractor.family"),
        ({"network": "other"}, "extractor.network"),
        ({"sampling": {"count": 4}}, "sampling.count"),
        ({"outputs": ["colour"]}, "layers"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_each_cause_is_one_field(change: dict[str, Any], field: str) -> None:
    assert [name for name, *_ in differences(record(), record(**change))] == [field]
    assert record_sha256(record()) != record_sha256(record(**change))


@pytest.mark.parametrize("change", [{"max_failed": 7}, {"outputs": ["corner", "colour"]}])
def test_what_decides_nothing_is_not_in_it(change: dict[str, Any]) -> None:
    assert record(**change) == record()


@pytest.mark.parametrize(("package", "field"), [("torch", "libraries.torch"), ("av", "decoders.pyav")])
def test_another_library_is_another_feature(monkeypatch: pytest.MonkeyPatch, package: str, field: str) -> None:
    before = record()
    monkeypatch.setattr("pipeline.extraction.fingerprint.version", lambda name: "9.9" if name == package else "0")
    changed = record()

    assert field in [name for name, *_ in differences(before, changed)]


def test_the_content_and_its_decoder_decide_the_key() -> None:
    keys = {record_sha256(video_record(record(), sha256=sha, backend=by)) for sha in "ab" for by in ("pyav", "decord")}

    assert len(keys) == 4


def test_preprocessing_comes_from_the_extractor_itself() -> None:
    assert make_task("toy", toy(), weights_sha256="random", device="cpu").record["preprocessing"] == {"scale": "0..1"}
