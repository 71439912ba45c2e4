"""The store and the feature cache: bytes depend on content only, and a reader gets back what was written."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cache import get_features, put_features
from pipeline.errors import InputError
from pipeline.store import Rows, VideoFeatures, open_store, shard_of, write_store


def features(seed: int, rows: int = 3) -> VideoFeatures:
    numbers = np.random.default_rng(seed)
    frames = np.arange(rows, dtype=np.int64)
    return VideoFeatures(
        tensors={
            "pool": numbers.normal(size=(rows, 4)).astype(np.float32),
            "grid": np.ones((rows, 2, 2, 4), np.float16),
        },
        rows=Rows(
            first_frame=frames, last_frame=frames, start=frames / 25, end=(frames + 1) / 25, valid=np.ones_like(frames)
        ),
    )


def content(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    videos = {f"video{number}": features(number, rows=number + 1) for number in range(20)}
    write_store(tmp_path / "store", videos, fingerprint={"weights": "random"}, failures={"bad": "no frames"})

    store = open_store(tmp_path / "store")

    assert set(store) == set(videos)
    assert store.untrained
    for video_id, video in videos.items():
        np.testing.assert_array_equal(store[video_id]["pool"], video["pool"])
        np.testing.assert_array_equal(store[video_id].rows.end, video.rows.end)
        assert store[video_id]["grid"].dtype == np.float16


def test_order_of_arrival_does_not_change_a_byte(tmp_path: Path) -> None:
    videos = {f"video{number}": features(number) for number in range(20)}
    backwards = dict(reversed(videos.items()))
    write_store(tmp_path / "a", videos, fingerprint={}, failures={})
    write_store(tmp_path / "b", backwards, fingerprint={}, failures={})

    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_unknown_and_failed_videos_are_told_apart(tmp_path: Path) -> None:
    write_store(tmp_path / "store", {"a": features(0)}, fingerprint={}, failures={"bad": "no frames"})
    store = open_store(tmp_path / "store")

    with pytest.raises(InputError, match=r"has no video 'bad': it failed \(no frames\)"):
        store["bad"]
    with pytest.raises(InputError, match=r"has no video 'other'$"):
        store["other"]
    with pytest.raises(InputError, match="no feature 'fc7' in this store; it has: grid, pool"):
        store["a"]["fc7"]


def test_a_missing_store_names_the_stage_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dvc repro extract@mobilenet_v2"):
        open_store(tmp_path / "mobilenet_v2")


@settings(max_examples=50)
@given(st.text(min_size=1))
def test_a_video_is_always_in_the_same_shard(video_id: str) -> None:
    assert 0 <= shard_of(video_id) < 16
    assert shard_of(video_id) == shard_of(video_id)


def test_a_damaged_cache_entry_counts_as_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    put_features("ab12", features(1))
    cached = get_features("ab12")
    assert cached is not None
    np.testing.assert_array_equal(cached["pool"], features(1)["pool"])

    path = next(tmp_path.rglob("ab12*"))
    path.write_bytes(path.read_bytes()[:-5])

    assert get_features("ab12") is None
    assert get_features("ff00") is None
