"""NaN and infinity: refused by extract and import, found by verify, dropped by repair."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.cache import feature_cache
from pipeline.core.errors import InputError, TooManyFailedError
from pipeline.extraction import extract
from pipeline.store import VideoFeatures, open_store, write_store
from pipeline.store_tools.import_foreign import import_features
from pipeline.store_tools.verify_store import repair, verify
from tests.store.making import QUIET, content, extracted, features, index_of, toy


def taps(monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    """Let the toy's network give something else for `colour`."""
    from extractors import toy as family  # type: ignore[attr-defined]

    def call(self: object, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        colours = {"colour": change(batch.mean((1, 2))), "corner": batch[:, 0, :2]}  # type: ignore[operator]
        return {name: colours[name] for name in self.outputs}  # type: ignore[attr-defined]

    monkeypatch.setattr(family.Toy, "__call__", call)


@pytest.fixture
def index(clips: Path, tmp_path: Path) -> Path:
    return index_of(shutil.copytree(clips, tmp_path / "videos"), tmp_path / "index")


def test_an_overflow_of_float16_is_refused_and_float32_is_not(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    taps(monkeypatch, lambda colour: colour * 1e6)
    with pytest.raises(TooManyFailedError, match=r"8 videos failed, 0 allowed; first: clip000: not-finite") as caught:
        extracted(index, tmp_path / "half", params=toy(dtype="float16"))

    told = r"'colour': 9 of 9 numbers are NaN or infinite, first in row 0 \(inf\), in 3 of 3 rows; .*dtype: float32"
    caught.match(told)
    assert not feature_cache.entries()
    assert not [each.message for each in recwarn if issubclass(each.category, RuntimeWarning)]  # as numpy warns
    extracted(index, tmp_path / "full")
    assert verify(tmp_path / "full") == []


def only_dark(colour: torch.Tensor) -> torch.Tensor:
    """Of the brightest row the second number is none."""
    colour[colour.mean(1).argmax(), 1] = torch.nan
    return colour


def test_nan_of_a_network_costs_its_video_and_no_other(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of two extractors that share a decoding, the other one keeps it."""
    good = extracted(index, tmp_path / "good")
    counted = iter(range(100))
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "other"))
    taps(monkeypatch, lambda colour: only_dark(colour) if next(counted) == 2 else colour)
    params = {"both": toy(max_failed=1), "corner": toy(outputs=["corner"])}
    outs = {name: tmp_path / name for name in params}
    extract.extract_features(params, index=index, outs=outs, executor=extract_in_process(), device="cpu", console=QUIET)

    (failed,) = open_store(outs["both"]).manifest["failures"].items()
    assert failed[1]["reason"] == "not-finite"
    assert "'colour': 1 of 9 numbers" in failed[1]["message"]
    assert "other weights" in failed[1]["message"]
    assert (len(open_store(outs["both"])), len(open_store(outs["corner"]))) == (7, 8)
    for video_id, video in open_store(outs["both"]).items():
        before = open_store(Path(good["store"]))[video_id].parts()
        assert all(np.array_equal(before[name], array) for name, array in video.parts().items())


def extract_in_process() -> extract.Executor:
    from pipeline.core.executors import InProcess

    return InProcess()


def test_what_an_earlier_version_cached_is_computed_again(index: Path, tmp_path: Path) -> None:
    extracted(index, tmp_path / "store")
    before = content(tmp_path / "store")
    entry = next(each.path for each in feature_cache.entries() if each.kind == "features")
    key = entry.stem
    kept = feature_cache.get_features(key)
    assert kept is not None
    spoilt = {name: np.array(array) for name, array in kept.items()}
    spoilt["colour"][1, 1] = np.inf
    feature_cache.put_features(key, VideoFeatures(tensors=spoilt, rows=kept.rows))
    shutil.rmtree(tmp_path / "cache/shards")  # of which it made none

    assert extracted(index, tmp_path / "store")["computed"] == 1
    assert content(tmp_path / "store") == before


def test_verify_finds_one_number_and_repair_drops_its_video(tmp_path: Path) -> None:
    videos = {f"v{number}": features(number, rows=4) for number in range(5)}
    videos["v3"]["grid"][2, 1, 0, 3] = -np.inf
    write_store(tmp_path / "store", videos, fingerprint={"imported": True})

    (problem,) = verify(tmp_path / "store")
    assert problem.videos == ("v3",)
    assert problem.where.endswith(": v3")
    assert problem.what == "'grid': 1 of 64 numbers are NaN or infinite, first in row 2 (-inf), in 1 of 4 rows"
    assert repair(tmp_path / "store") == ["v3"]
    assert verify(tmp_path / "store") == []


@pytest.mark.parametrize("standardize", [False, True])
def test_import_refuses_them_and_lists_the_first(tmp_path: Path, standardize: bool) -> None:
    (tmp_path / "theirs").mkdir()
    for number in range(9):
        array = np.ones((3, 4), np.float32)
        array[1, number % 4] = np.nan if number > 1 else 1
        np.save(tmp_path / f"theirs/v{number}.npy", array)

    with pytest.raises(InputError, match="7 of 9 videos have numbers that are none") as caught:
        import_features(tmp_path / "theirs", tmp_path / "store", standardize=standardize)
    assert "v2: 'pool': 1 of 12 numbers are NaN or infinite, first in row 1 (nan)" in caught.value.message
    assert "v8" not in caught.value.message
    assert not (tmp_path / "store").exists()


def test_import_refuses_a_scale_that_overflows(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    np.save(tmp_path / "theirs/v.npy", np.full((3, 4), 600, np.float16))

    with pytest.raises(InputError, match=r"'pool': 12 of 12 numbers are NaN or infinite"):
        import_features(tmp_path / "theirs", tmp_path / "store", scale=1000.0)
