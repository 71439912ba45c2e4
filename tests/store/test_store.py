"""The store: bytes depend on content only, a reader gets back what was written, and it acts like a dictionary."""

from __future__ import annotations

import json
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pipeline.core.errors import InputError
from pipeline.store import Failure, VideoFeatures, open_store, rows_of, shard_count, shard_of, write_store
from pipeline.store_tools.verify_store import verify
from tests.store.making import content, features

MEMORY = Path("/dev/shm")  # noqa: S108 - hundreds of fsyncs are quick there


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    videos = {f"video{number}": features(number, rows=number + 1) for number in range(20)}
    failures = {"bad": Failure("no-frames")}
    write_store(tmp_path / "store", videos, fingerprint={"weights": "random"}, failures=failures)

    store = open_store(tmp_path / "store")

    assert set(store) == set(videos)
    assert store.untrained
    for video_id, video in videos.items():
        np.testing.assert_array_equal(store[video_id]["pool"], video["pool"])
        np.testing.assert_array_equal(store[video_id].rows.end, video.rows.end)
        assert store[video_id]["grid"].dtype == np.float16
    assert {store.state(video_id) for video_id in videos} == {"present"}
    assert (store.state("bad"), store.state("other")) == ("failed", "absent")


def test_order_of_arrival_does_not_change_a_byte(tmp_path: Path) -> None:
    videos = {f"video{number}": features(number) for number in range(20)}
    backwards = dict(reversed(videos.items()))
    write_store(tmp_path / "a", videos, fingerprint={})
    write_store(tmp_path / "b", backwards, fingerprint={})

    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_a_store_grown_video_by_video_equals_one_made_at_once(tmp_path: Path) -> None:
    videos = {f"video{number}": features(number) for number in range(12)}
    for count in range(1, 13):
        write_store(tmp_path / "grown", dict(list(videos.items())[:count]), fingerprint={})
    write_store(tmp_path / "once", videos, fingerprint={})

    assert content(tmp_path / "grown") == content(tmp_path / "once")


def test_unknown_and_failed_videos_are_told_apart(tmp_path: Path) -> None:
    failures = {"bad": Failure("no-frames", "not one")}
    write_store(tmp_path / "store", {"a": features(0)}, fingerprint={}, failures=failures)
    store = open_store(tmp_path / "store")

    with pytest.raises(InputError, match=r"has no video 'bad': it failed \(no-frames: not one\)"):
        store["bad"]
    with pytest.raises(InputError, match=r"has no video 'other'$"):
        store["other"]
    with pytest.raises(InputError, match="no feature 'fc7' in this store; it has: grid, pool"):
        store["a"]["fc7"]


def test_a_missing_store_names_the_stage_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dvc repro extract@mobilenet_v2"):
        open_store(tmp_path / "mobilenet_v2")


def test_an_older_schema_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(json.dumps({"schema": 1, "videos": {}}))

    with pytest.raises(InputError, match="has schema 1; this version reads schema 2"):
        open_store(tmp_path)


def test_the_empty_store_of_the_repository_is_whole() -> None:
    folder = Path(__file__).parents[2] / "features/none"

    assert len(open_store(folder)) == 0
    assert verify(folder) == []


@pytest.mark.parametrize("video_id", ["a b", "ü/ö", "..", "50%", "x" * 200, "caf\udce9", "line\nbreak", "日本"])
def test_any_file_name_can_be_an_id(tmp_path: Path, video_id: str) -> None:
    write_store(tmp_path / "store", {video_id: features(1)}, fingerprint={})

    np.testing.assert_array_equal(open_store(tmp_path / "store")[video_id]["pool"], features(1)["pool"])
    assert verify(tmp_path / "store") == []


def test_videos_of_different_kinds_are_refused_by_name(tmp_path: Path) -> None:
    odd = VideoFeatures(tensors={"pool": np.zeros((2, 5))}, rows=rows_of(2))
    short = VideoFeatures(tensors={"pool": np.zeros((2, 5))}, rows=rows_of(3))

    with pytest.raises(InputError, match=r"'b' has pool \[5\] float64; the videos before it have"):
        write_store(tmp_path / "store", {"a": features(1), "b": odd}, fingerprint={})
    with pytest.raises(InputError, match="'a': pool has not 3 rows"):
        write_store(tmp_path / "store", {"a": short}, fingerprint={})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_store_that_was_there(tmp_path: Path) -> None:
    write_store(tmp_path / "store", {"a": features(1)}, fingerprint={})
    before = content(tmp_path / "store")

    with pytest.raises(InputError):
        write_store(
            tmp_path / "store",
            {"a": features(1), "b": VideoFeatures(tensors={}, rows=rows_of(1))},
            fingerprint={},
        )
    assert content(tmp_path / "store") == before


def test_another_process_gets_the_folder_and_opens_it_itself(tmp_path: Path) -> None:
    write_store(tmp_path / "store", {"a": features(1)}, fingerprint={})
    store = open_store(tmp_path / "store")
    np.testing.assert_array_equal(store["a"]["pool"], features(1)["pool"])

    np.testing.assert_array_equal(pickle.loads(pickle.dumps(store))["a"]["pool"], features(1)["pool"])  # noqa: S301


def test_an_open_store_survives_its_replacement(tmp_path: Path) -> None:
    write_store(tmp_path / "store", {"a": features(1)}, fingerprint={})
    pool = open_store(tmp_path / "store")["a"]["pool"]
    write_store(tmp_path / "store", {"a": features(2)}, fingerprint={})

    np.testing.assert_array_equal(pool, features(1)["pool"])
    np.testing.assert_array_equal(open_store(tmp_path / "store")["a"]["pool"], features(2)["pool"])


@settings(max_examples=50)
@given(st.text(min_size=1), st.sampled_from([16, 64, 256]))
def test_a_video_is_always_in_the_same_shard(video_id: str, shards: int) -> None:
    assert 0 <= shard_of(video_id, shards) < shards
    assert shard_of(video_id, shards) == shard_of(video_id, shards)


@given(st.integers(0, 10**6))
def test_shards_grow_with_the_store_and_stay_small(videos: int) -> None:
    assert videos <= shard_count(videos) * 512
    assert shard_count(videos) == 16 or videos > {256: 16}.get(shard_count(videos), shard_count(videos) // 4) * 512


class StoreAgainstDictionary(RuleBasedStateMachine):
    """Videos come, change, fail and go; after every step the store says what a dictionary says."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None)) / "store"
        self.videos: dict[str, VideoFeatures] = {}
        self.failures: dict[str, Failure] = {}
        self.publish()

    ids = st.text(min_size=1, max_size=3)

    @rule(video_id=ids, seed=st.integers(0, 99), rows=st.integers(0, 4))
    def put(self, video_id: str, seed: int, rows: int) -> None:
        self.failures.pop(video_id, None)
        self.videos[video_id] = features(seed, rows)
        self.publish()

    @rule(video_id=ids)
    def fail(self, video_id: str) -> None:
        self.videos.pop(video_id, None)
        self.failures[video_id] = Failure("crash", video_id)
        self.publish()

    @rule(video_id=ids)
    def remove(self, video_id: str) -> None:
        self.videos.pop(video_id, None)
        self.failures.pop(video_id, None)
        self.publish()

    @rule()
    def extend_from_itself(self) -> None:
        """Stored features can be written again as they are."""
        store = open_store(self.folder)
        before = content(self.folder)
        write_store(self.folder, dict(store), fingerprint={"n": 1}, failures=self.failures)
        assert content(self.folder) == before

    @invariant()
    def agrees(self) -> None:
        store = open_store(self.folder)
        assert set(store) == set(self.videos)
        assert {video_id: store.failure(video_id) for video_id in store.manifest["failures"]} == self.failures
        for video_id, video in self.videos.items():
            for name, array in video.parts().items():
                np.testing.assert_array_equal(store[video_id].parts()[name], array)
        assert verify(self.folder) == []

    def publish(self) -> None:
        write_store(self.folder, self.videos, fingerprint={"n": 1}, failures=self.failures)

    def teardown(self) -> None:
        shutil.rmtree(self.folder.parent)


StoreAgainstDictionary.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestStoreAgainstDictionary = StoreAgainstDictionary.TestCase
