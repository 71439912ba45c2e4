"""One video costs one video: counted in videos decoded and computed, never in seconds."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.cache import feature_cache
from pipeline.core.errors import DamageError, TooManyFailedError
from pipeline.core.executors import InProcess
from pipeline.core.reasons import DecodeError
from pipeline.decoding import read_frames
from pipeline.extraction import extract, extract_video
from pipeline.extraction.sampling import uniform
from pipeline.index.video_index import read_index
from pipeline.params.extract import Extract
from pipeline.store import open_store
from pipeline.store_tools.verify_store import repair, verify
from tests.clips import truncate, write_clip
from tests.store.making import QUIET, ToyProcesses, content, extracted, index_of, toy, write_clips


def counts(summary: dict[str, Any]) -> tuple[int, int]:
    return summary["decoded"], summary["computed"]


def noted_frames(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Frames that decoders are asked for from now on, one number for each pass over a video."""
    asked: list[int] = []

    def read(row: Any, indices: Any, **details: Any) -> Any:
        asked.append(len(indices))
        return read_frames(row, indices, **details)

    monkeypatch.setattr(extract_video, "read_frames", read)
    return asked


def thirds(frames: int) -> list[int]:
    """What `count: 3` takes."""
    return uniform(frames, count=3).tolist()


@pytest.fixture
def videos(clips: Path, tmp_path: Path) -> Path:
    return shutil.copytree(clips, tmp_path / "videos")


class Shuffled:
    """An executor that works in an order of its own."""

    def __init__(self, seed: int) -> None:
        self.numbers = random.Random(seed)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        return map(work, self.numbers.sample(items, len(items)))


def test_a_dozen_videos_and_one_more(tmp_path: Path) -> None:
    """Adding a video decodes and computes exactly one; renaming, removing and coming back compute none."""
    write_clips(tmp_path / "videos", 12)
    store, index = tmp_path / "store", tmp_path / "index"
    assert counts(extracted(index_of(tmp_path / "videos", index), store)) == (12, 12)
    assert counts(extracted(index, store)) == (0, 0)

    write_clips(tmp_path / "videos", 1, first=12)
    assert counts(extracted(index_of(tmp_path / "videos", index), store)) == (1, 1)
    assert len(open_store(store)) == 13

    (tmp_path / "videos/clip007.mp4").rename(tmp_path / "videos/renamed.mp4")
    assert counts(extracted(index_of(tmp_path / "videos", index), store)) == (0, 0)
    assert {"renamed"} == open_store(store).keys() - {f"clip{number:03d}" for number in range(13)}

    (tmp_path / "videos/renamed.mp4").rename(tmp_path / "clip007.mp4")
    assert counts(extracted(index_of(tmp_path / "videos", index), store)) == (0, 0)
    assert len(open_store(store)) == 12

    shutil.copy(tmp_path / "videos/clip001.mp4", tmp_path / "videos/clip002.mp4")  # replaced by known content
    write_clip(tmp_path / "videos/clip003.mp4", frames=9, width=64, height=32)  # replaced by new content
    assert counts(extracted(index_of(tmp_path / "videos", index), store)) == (1, 1)


def test_a_changed_parameter_and_back(videos: Path, tmp_path: Path) -> None:
    index = index_of(videos, tmp_path / "index")
    assert counts(extracted(index, tmp_path / "store")) == (8, 8)
    before = content(tmp_path / "store")

    assert counts(extracted(index, tmp_path / "store", params=toy(dtype="float16"))) == (8, 8)
    assert content(tmp_path / "store") != before
    assert counts(extracted(index, tmp_path / "store")) == (0, 0)
    assert content(tmp_path / "store") == before
    assert counts(extracted(index, tmp_path / "store", params=toy(max_failed=3))) == (0, 0)


def test_several_extractors_decode_each_video_once(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are those of separate runs, also of an extractor with other sampling; no frame is decoded twice."""
    frames = [row.frames for row in read_index(index_of(videos, tmp_path / "index")).rows.values()]
    asked = noted_frames(monkeypatch)
    index = index_of(videos, tmp_path / "index")
    params = {"a": toy(), "b": toy(outputs=["colour"], dtype="float16"), "c": toy(sampling={"every": 4})}
    together = {name: tmp_path / "together" / name for name in params}

    def run(some: dict[str, Extract], outs: dict[str, Path]) -> dict[str, Any]:
        return extract.extract_features(some, index=index, outs=outs, executor=InProcess(), device="cpu", console=QUIET)

    assert run({"a": params["a"], "b": params["b"]}, together)["decoded"] == 8
    assert run(params, together)["decoded"] == 8  # only c is new
    three, fourths = 3 * len(frames), sum(-(-count // 4) for count in frames)
    assert sum(asked) == three + fourths

    asked.clear()
    shutil.rmtree(tmp_path / "cache/features")
    assert run(params, together)["decoded"] == 8
    assert (len(asked), sum(asked)) == (8, sum(len({*range(0, count, 4), *thirds(count)}) for count in frames))

    shutil.rmtree(tmp_path / "cache")
    for name, each in params.items():
        assert run({name: each}, {name: tmp_path / "alone" / name})["decoded"] == 8
        assert content(tmp_path / "alone" / name) == content(together[name])


@pytest.mark.parametrize(
    "executor", [ToyProcesses(2), pytest.param(ToyProcesses(4), marks=pytest.mark.slow), Shuffled(1), Shuffled(2)]
)
def test_workers_and_order_change_no_byte(clips: Path, tmp_path: Path, executor: Any) -> None:
    index = index_of(clips, tmp_path / "index")
    assert counts(extracted(index, tmp_path / "alone")) == (8, 8)
    shutil.rmtree(tmp_path / "cache/features")

    assert counts(extracted(index, tmp_path / "store", executor=executor)) == (8, 8)
    assert content(tmp_path / "store") == content(tmp_path / "alone")


def test_a_run_grown_video_by_video_changes_no_byte(clips: Path, tmp_path: Path) -> None:
    names = random.Random(3).sample(sorted(path.name for path in clips.iterdir()), 8)
    (tmp_path / "videos").mkdir()
    for name in names:
        shutil.copy(clips / name, tmp_path / "videos")
        assert counts(extracted(index_of(tmp_path / "videos", tmp_path / "index"), tmp_path / "grown")) == (1, 1)
    shutil.rmtree(tmp_path / "cache")
    extracted(tmp_path / "index", tmp_path / "once")

    assert content(tmp_path / "grown") == content(tmp_path / "once")


def test_features_do_not_depend_on_where_the_videos_lie(clips: Path, videos: Path, tmp_path: Path) -> None:
    truncate(videos / "clip000.mp4", keep=0.5)
    shutil.copytree(videos, tmp_path / "elsewhere")
    for name in ("videos", "elsewhere"):
        index = index_of(tmp_path / name, tmp_path / f"index-{name}")
        (tmp_path / name / "clip001.mp4").unlink()  # a failure whose message would name the path
        extracted(index, tmp_path / f"store-{name}", params=toy(max_failed=9))

    assert content(tmp_path / "store-videos") == content(tmp_path / "store-elsewhere")


def test_rows_say_what_they_are(videos: Path, tmp_path: Path) -> None:
    index = index_of(videos, tmp_path / "index")
    extracted(index, tmp_path / "store", params=toy(sampling={"every": 2}))
    row = read_index(index).rows["clip000"]
    video = open_store(tmp_path / "store")["clip000"]

    assert video.rows.first_frame.tolist() == list(range(0, row.frames, 2))
    np.testing.assert_allclose(video.rows.start, video.rows.first_frame / row.fps, atol=1e-6)
    facts = open_store(tmp_path / "store").manifest["videos"]["clip000"]
    assert facts == {"rows": len(video.rows), "sha256": row.sha256, "decoder": row.backend}


def test_a_video_too_short_for_one_window_is_present_with_no_row(videos: Path, tmp_path: Path) -> None:
    index = index_of(videos, tmp_path / "index")
    extracted(
        index,
        tmp_path / "store",
        params=toy(family="toy_clips", outputs=["colour"], sampling={"window": 100, "stride": 100}),
    )
    store = open_store(tmp_path / "store")

    assert store["clip000"]["colour"].shape == (0, 3)
    assert verify(tmp_path / "store") == []


def test_failures_are_data_until_they_are_too_many(videos: Path, tmp_path: Path) -> None:
    index = index_of(videos, tmp_path / "index")
    (videos / "clip001.mp4").unlink()
    shutil.copy(videos / "clip003.mp4", videos / "clip002.mp4")

    with pytest.raises(TooManyFailedError, match="2 videos failed, 1 allowed; first: clip001: missing"):
        extracted(index, tmp_path / "store", params=toy(max_failed=1))
    summary = extracted(index, tmp_path / "store", params=toy(max_failed=2))

    assert summary["failures"] == {"clip001": "missing", "clip002": "changed"}
    store = open_store(tmp_path / "store")
    assert [store.state(f"clip00{number}") for number in (0, 1, 2)] == ["present", "failed", "failed"]
    assert len(store) == 6


def test_a_cleared_or_damaged_cache_costs_work_and_nothing_else(videos: Path, tmp_path: Path) -> None:
    index = index_of(videos, tmp_path / "index")
    extracted(index, tmp_path / "store")
    before = content(tmp_path / "store")
    entry = next((tmp_path / "cache/features").glob("??/*"))
    entry.write_bytes(entry.read_bytes()[:-1] + b"x")

    assert counts(extracted(index, tmp_path / "store")) == (0, 0)  # its shard is whole
    shutil.rmtree(tmp_path / "cache/shards")
    assert counts(extracted(index, tmp_path / "store")) == (1, 1)
    shutil.rmtree(tmp_path / "cache")
    assert counts(extracted(index, tmp_path / "store")) == (8, 8)
    assert content(tmp_path / "store") == before


def test_entries_that_vanish_before_the_store_is_written_are_made_again(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_of(videos, tmp_path / "index")
    publish, thefts = extract._publish, []

    def publish_from_a_robbed_cache(*args: Any, **kwargs: Any) -> Any:
        if len(thefts) < 2:
            thefts.append(feature_cache.entries()[0].path)
            thefts[-1].unlink()
        return publish(*args, **kwargs)

    monkeypatch.setattr(extract, "_publish", publish_from_a_robbed_cache)
    assert counts(extracted(index, tmp_path / "store")) == (10, 10)
    assert verify(tmp_path / "store") == []


def test_a_cache_that_is_always_robbed_ends_in_a_message(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_of(videos, tmp_path / "index")
    monkeypatch.setattr(
        feature_cache, "entry_path", lambda key: tmp_path / "cache/nowhere" / str(random.random()) / key
    )

    with pytest.raises(DamageError, match="is missing"):
        extracted(index, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_repaired_store_is_completed_by_the_next_run(videos: Path, tmp_path: Path) -> None:
    index = index_of(videos, tmp_path / "index")
    extracted(index, tmp_path / "store")
    before = content(tmp_path / "store")
    shard = next((tmp_path / "store").glob("shard-*"))
    shard.write_bytes(shard.read_bytes()[:-1])

    assert repair(tmp_path / "store")
    assert counts(extracted(index, tmp_path / "store")) == (0, 0)
    assert content(tmp_path / "store") == before


def test_a_frame_that_cannot_be_had_costs_only_those_who_need_it(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass for all that ends early is followed by one for each sampling: outcomes and bytes are those of alone."""
    index = index_of(videos, tmp_path / "index")
    params = {"middle": toy(sampling={"count": 1}), "all": toy(sampling={"every": 1}, max_failed=9)}

    def read(row: Any, indices: Any, **details: Any) -> Iterator[np.ndarray]:
        for number, frame in zip(indices, read_frames(row, indices, **details), strict=True):
            if number == row.frames - 1:
                raise DecodeError("fewer-frames", f"'{row.path}' ended early")
            yield frame

    monkeypatch.setattr(extract_video, "read_frames", read)

    def run(some: dict[str, Extract], folder: str) -> dict[str, Any]:
        outs = {name: tmp_path / folder / name for name in some}
        return extract.extract_features(some, index=index, outs=outs, executor=InProcess(), device="cpu", console=QUIET)

    together = run(params, "together")["stores"]
    assert (len(together["middle"]["failures"]), together["all"]["videos"]) == (0, 0)
    assert set(together["all"]["failures"].values()) == {"fewer-frames"}
    shutil.rmtree(tmp_path / "cache")
    for name, each in params.items():
        run({name: each}, "alone")
        assert content(tmp_path / "alone" / name) == content(tmp_path / "together" / name)
