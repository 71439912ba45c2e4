"""The record of all that decides a feature: whatever changes, one field tells."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.hashing import record_sha256
from pipeline.extraction.fingerprint import BATCH, CLIP_BATCH, GPU_TIMES, fingerprint, libraries, video_record
from pipeline.extraction.task import make_task
from pipeline.store.provenance import differences
from tests.store.making import toy

DECODERS = ("pyav", "decord", "torchcodec 0.17.0 with FFmpeg 5.1", "torchcodec 0.17.0 with FFmpeg 6.0")


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
    keys = {record_sha256(video_record(record(), sha256=sha, backend=by)) for sha in "ab" for by in DECODERS}

    assert len(keys) == 8


def test_preprocessing_comes_from_the_extractor_itself() -> None:
    assert make_task("toy", toy(), weights_sha256="random", device="cpu").record["preprocessing"] == {"scale": "0..1"}


def test_features_of_before_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of caches in use: a refactoring that moves them would throw weeks of GPU time away.

    When numbers do change, `CODE` is raised, and these with it.
    """
    monkeypatch.setattr("pipeline.extraction.fingerprint.version", lambda _: "1.0")

    frames = video_record(record(), sha256="ab" * 32, backend="pyav")
    clips = video_record(
        record(sampling={"window": 16, "stride": 8}, device="cuda:1"), sha256="ab" * 32, backend="pyav"
    )

    assert [record_sha256(each) for each in (frames, clips)] == [
        "5c2e999fbd614628d3b2007f5cc040069b6ec307143c5ec633bb1cb1fa163f4e",
        "a672eb25ba272b90f224437e11159eccb8e01ab08e125d8c003fae984e534162",
    ]


def test_rows_per_forward_pass_belong_to_the_bytes() -> None:
    """On a CPU the same for every video: another number of rows moves last digits."""
    assert (record()["extractor"]["batch"], BATCH, CLIP_BATCH, GPU_TIMES) == (8, 8, 1, 8)


def test_libraries_are_those_that_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.extraction.fingerprint.version", lambda name: f"{name} 1")

    assert sorted(libraries("resnet18", "eager")) == ["torch", "torchvision"]
    assert sorted(libraries("timm:resnet18", "eager")) == ["timm", "torch", "torchvision"]
