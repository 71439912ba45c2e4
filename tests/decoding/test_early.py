"""Dense reads: another thread decodes, and what comes is the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.reasons import DecodeError
from pipeline.decoding import Limits, child, guard, pyav, read_frames
from pipeline.decoding.early import TOGETHER, WAITING
from pipeline.decoding.opening import opened
from pipeline.index.video_index import VideoRow
from tests.decoding.catalogue import CASES

Clip = Callable[[str], Path]
RowOf = Callable[[Path], VideoRow]


def found(path: Path, *, early: bool) -> list[Any]:
    """All frames up to the 30th, and how it ends."""
    frames: list[Any] = []
    try:
        with opened(str(path)) as file:
            for pixels in pyav.read(file, wanted=list(range(30)), limits=Limits(), threads=1, early=early):
                frames.append(None if pixels is None else pixels.tobytes())
    except DecodeError as error:
        frames.append(error.reason)
    return frames


@pytest.mark.parametrize("name", [name for name in CASES if name != "bomb.mov"])  # which takes seconds to make
def test_frames_and_errors_are_the_same(name: str, clip: Clip) -> None:
    """Damaged files and those that are no video too."""
    assert found(clip(name), early=True) == found(clip(name), early=False)


def test_few_frames_are_decoded_ahead(clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    decode = pyav.frames_in_order

    def noted(*args: Any, **options: Any) -> Iterator[Any]:
        for frame in decode(*args, **options):
            made.append(threading.current_thread().name)
            yield frame

    monkeypatch.setattr(pyav, "frames_in_order", noted)
    with (
        opened(str(clip("fast.mp4"))) as file,
        closing(pyav.read(file, wanted=list(range(200)), limits=Limits(), threads=1, early=True)) as frames,
    ):
        for number, _ in zip(range(100), frames, strict=False):
            assert len(made) <= number + 1 + TOGETHER * (WAITING + 1)

    assert set(made) == {"prefetch"}
    assert len(made) < 200
    assert "prefetch" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("backend", "side", "thread"),
    [("torchcodec", 1000, "prefetch"), ("torchcodec", 300, "MainThread"), ("decord", 1000, "MainThread")],
)
def test_a_thread_decodes_where_that_gains(
    backend: str, side: int, thread: str, clip: Clip, monkeypatch: pytest.MonkeyPatch
) -> None:
    """decord has one of its own, and torchcodec's small frames are soon copied."""
    threads: list[str] = []

    def read(*_: Any, **__: Any) -> Generator[np.ndarray | None, None, None]:
        threads.append(threading.current_thread().name)
        yield np.full((side, side, 3), 7, np.uint8)

    monkeypatch.setattr(child, "JUDGED", {backend: read})
    request = {"backend": backend, "build": "", "wanted": [0], "threads": 1, "early": True, "shape": [side, side, 3]}
    with opened(str(clip("good.mp4"))) as file:
        (frame,) = child._frames(file, request)
    assert frame is not None
    assert (frame == 7).all()
    assert threads == [thread]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What children are told of each read."""
    told: list[bool] = []
    request = guard.Guard.request

    def noted(*args: Any, **details: Any) -> Iterator[Any]:
        told.extend([details["early"]] if "early" in details else [])
        return request(*args, **details)

    monkeypatch.setattr(guard.Guard, "request", noted)
    return told


@pytest.mark.parametrize(("step", "early"), [(1, True), (2, True), (5, False)])
def test_where_few_frames_are_wanted_nothing_is_to_be_gained(
    step: int, early: bool, clip: Clip, row_of: RowOf, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "cores", lambda: 2)
    row = row_of(clip("fast.mp4"))

    assert len(list(read_frames(row, range(0, 200, step)))) == -(-200 // step)
    assert asked == [early]


@pytest.mark.parametrize(("cores", "early"), [(1, [False] * 3), (2, [True, False, False]), (6, [True] * 3)])
def test_each_child_has_a_second_core_or_none_takes_one(
    cores: int, early: list[bool], clip: Clip, row_of: RowOf, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all cores decode, one more thread costs and gains nothing."""
    monkeypatch.setattr(guard, "cores", lambda: cores)
    row = row_of(clip("fast.mp4"))
    with ExitStack() as reads:
        for _ in range(3):
            next(reads.enter_context(closing(read_frames(row, range(200)))))

    assert asked == early
