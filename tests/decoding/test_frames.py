"""Frames equal PyAV's in-order decode, whichever backend reads them and whichever frames are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pipeline.core.reasons import DecodeError
from pipeline.decoding import read_frames, read_video
from pipeline.index.video_index import VideoRow
from tests.clips import judged_frames, picture
from tests.decoding.catalogue import USABLE
from tests.decoding.conftest import SHARED

Clip = Callable[[str], Path]
RowOf = Callable[[Path], VideoRow]
UNDAMAGED = [name for name in USABLE if name not in ("zeroed.mp4", "flipped.mp4", "cut.mp4")]
UNTURNED = [name for name in UNDAMAGED if "rotated" not in name]


def stacked(row: VideoRow, indices: list[int]) -> np.ndarray:
    return np.stack(list(read_frames(row, indices)))


@pytest.mark.parametrize("name", UNTURNED)
def test_all_frames_equal_bare_pyav(name: str, clip: Clip, row_of: RowOf) -> None:
    row = row_of(clip(name))
    assert np.array_equal(stacked(row, list(range(row.frames))), np.stack(judged_frames(clip(name))))


@pytest.mark.parametrize("name", UNTURNED)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_random_index_lists_with_both_backends(name: str, clip: Clip, row_of: RowOf, data: st.DataObject) -> None:
    row = row_of(clip(name))
    indices = data.draw(st.lists(st.integers(0, row.frames - 1), min_size=1, max_size=12))
    truth = judged_frames(clip(name))
    wanted = np.stack([truth[index] for index in sorted(set(indices))])
    backends = ("decord", "pyav") if row.backend == "decord" else ("pyav",)
    for backend in backends:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(read_video, "DENSE", 10**6)  # decord also where it would leave a sparse list to PyAV
            assert np.array_equal(stacked(replace(row, backend=backend), indices), wanted)


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_rotation_is_applied_by_both_backends(turn: int, clip: Clip, row_of: RowOf) -> None:
    """The turn is against the clock, as the display matrix says; decord's own turn was judged equal."""
    path = clip(f"rotated_{turn}.mp4")
    expected = np.rot90(np.stack(judged_frames(path)), turn // 90, axes=(1, 2))
    for backend in ("decord", "pyav"):
        assert np.array_equal(stacked(replace(row_of(path), backend=backend), list(range(30))), expected)


def test_the_picture_is_the_one_that_was_written(clip: Clip, row_of: RowOf) -> None:
    """A lossless clip gives back the very pixels: RGB order, top left first."""
    row = row_of(clip("alpha.mov"))
    assert np.array_equal(stacked(row, [3])[0], picture(3, width=96, height=80))


@pytest.mark.parametrize("name", ["zeroed.mp4", "flipped.mp4", "cut.mp4"])
def test_damaged_clips_give_the_same_frames_again(name: str, clip: Clip, row_of: RowOf) -> None:
    row = row_of(clip(name))
    whole = stacked(row, list(range(row.frames)))
    some = list(range(0, row.frames, 7))
    assert np.array_equal(stacked(row, some), whole[some])


def test_frames_that_are_not_there_are_refused(clip: Clip, row_of: RowOf) -> None:
    row = row_of(clip("good.mp4"))
    with pytest.raises(DecodeError, match=r"'good' has frames 0 to 29; asked for \[30\]"):
        list(read_frames(row, [0, 30]))


def test_a_row_that_promises_too_much_is_found_out(clip: Clip, row_of: RowOf) -> None:
    for backend in ("decord", "pyav"):
        row = replace(row_of(clip("good.mp4")), frames=40, backend=backend)
        with pytest.raises(DecodeError, match="ended before frame 30") as caught:
            list(read_frames(row, list(range(40))))
        assert caught.value.reason == "fewer-frames"


def test_no_indices_no_frames(clip: Clip, row_of: RowOf) -> None:
    assert list(read_frames(row_of(clip("good.mp4")), [])) == []


def test_real_clips_equal_bare_pyav(row_of: RowOf) -> None:
    folder = SHARED / "videos"
    if not folder.is_dir():
        pytest.skip("no real clips beside the project")
    for path in sorted(folder.glob("msvd_*.avi")):
        row, truth = row_of(path), judged_frames(path)
        for step in (1, 7):
            wanted = list(range(0, row.frames, step))
            for index, frame in zip(wanted, read_frames(row, wanted), strict=True):
                assert np.array_equal(frame, truth[index])
