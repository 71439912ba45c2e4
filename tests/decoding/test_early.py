"""Dense reads: another thread decodes, and what comes is the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.reasons import DecodeError
from pipeline.decoding import Limits, guard, pyav, read_frames
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


@pytest.mark.parametrize(("step", "early"), [(1, True), (2, True), (5, False)])
def test_where_few_frames_are_wanted_nothing_is_to_be_gained(
    step: int, early: bool, clip: Clip, row_of: RowOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    request = guard.Guard.request

    def noted(*args: Any, **details: Any) -> Iterator[Any]:
        asked.append(details["early"])
        return request(*args, **details)

    row = row_of(clip("fast.mp4"))
    monkeypatch.setattr(guard.Guard, "request", noted)

    assert len(list(read_frames(row, range(0, 200, step)))) == -(-200 // step)
    assert asked == [early]
