"""Sampling is arithmetic: examples by hand, and properties that hold for every video."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pipeline.extraction.sampling import at_rate, every, frame_ends, sample, uniform, windows
from pipeline.params.extract import Sampling

FRAMES = st.integers(1, 400)
INTERVALS = st.lists(st.floats(0.001, 2.0), min_size=1, max_size=120)  # seconds that each frame is shown


def times_of(intervals: list[float]) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(intervals)[:-1]])


def test_every_third_frame() -> None:
    assert every(10, step=3).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("frames", "chosen"), [(0, []), (1, [0]), (5, [4]), (6, [5]), (20, [5]), (21, [5, 20]), (50, [5, 20, 35])]
)
def test_the_middle_of_three_samples(frames: int, chosen: list[int]) -> None:
    """Regions of every third of the frames 0, 5, 10, ...: the middle one. A shorter video still has a row."""
    rows = sample(Sampling(every=15, offset=5), frames=frames, times=np.arange(frames) / 25)

    assert rows.indices[:, 0].tolist() == chosen


def test_uniform_takes_the_middle_of_equal_parts() -> None:
    assert uniform(10, count=5).tolist() == [1, 3, 5, 7, 9]
    assert uniform(100, count=4).tolist() == [12, 37, 62, 87]
    assert uniform(2, count=4).tolist() == [0, 0, 1, 1]


def test_rate_follows_the_clock_of_a_variable_rate() -> None:
    """Frames at 0, 40, 200, 240, 900 ms until 1 s, looked at five times a second."""
    times = np.array([0.0, 0.04, 0.2, 0.24, 0.9])
    assert at_rate(times, fps=5, end=1.0).tolist() == [0, 2, 3, 3, 3]


@pytest.mark.parametrize("fps", [24, 25, 30, 60, 1000])
def test_a_video_at_its_own_rate_gives_every_frame_once(fps: int) -> None:
    times = np.arange(500) / fps
    assert at_rate(times, fps=fps, end=500 / fps).tolist() == list(range(500))


def test_ntsc_times_in_a_90_khz_clock_give_every_frame_once() -> None:
    times = np.round(np.arange(300) * 3003.0) / 90000
    assert at_rate(times, fps=30000 / 1001, end=300 * 1001 / 30000).tolist() == list(range(300))


@pytest.mark.parametrize(
    ("tail", "last", "valid"),
    [("drop", [4, 5, 6, 7], 4), ("pad", [8, 9, 9, 9], 2), ("loop", [8, 9, 8, 9], 2)],
)
def test_tail_policies(tail: str, last: list[int], valid: int) -> None:
    indices, real = windows(10, window=4, stride=4, tail=tail)
    assert indices[-1].tolist() == last
    assert real[-1] == valid


def test_a_video_shorter_than_the_window() -> None:
    assert len(windows(3, window=8, stride=8, tail="drop")[0]) == 0
    assert windows(3, window=8, stride=8, tail="pad")[0].tolist() == [[0, 1, 2, 2, 2, 2, 2, 2]]
    assert windows(3, window=8, stride=8, tail="loop")[0].tolist() == [[0, 1, 2, 0, 1, 2, 0, 1]]


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17, 18, 100])
def test_a_window_at_each_start_lines_up_with_single_frames(frames: int) -> None:
    """8-frame windows every 5 frames beside single frames every 5: row i of both begins at frame 5i."""
    times = np.arange(frames) / 25
    singles = sample(Sampling(every=5), frames=frames, times=times)
    clips = sample(Sampling(window=8, stride=5, tail="each"), frames=frames, times=times)
    assert clips.first.tolist() == singles.first.tolist()
    assert clips.last.tolist() == [min(first + 7, frames - 1) for first in singles.first]


def test_windows_of_chosen_frames() -> None:
    """Every second frame of ten, three at a time: the rows say which real frames they span."""
    rows = sample(Sampling(every=2, window=3, stride=2, tail="pad"), frames=10, times=np.arange(10) / 10)
    assert rows.indices.tolist() == [[0, 2, 4], [4, 6, 8]]
    assert (rows.first.tolist(), rows.last.tolist()) == ([0, 4], [4, 8])
    np.testing.assert_allclose(rows.end, [0.5, 0.9])


def test_eight_seconds_at_two_frames_a_second() -> None:
    rows = sample(Sampling(fps=2.0, window=16, stride=8, tail="pad"), frames=250, times=np.arange(250) / 25)
    assert rows.valid.tolist() == [16, 12]
    assert rows.indices[0].tolist() == [int(moment * 12.5) for moment in range(16)]
    assert rows.last.tolist() == [187, 237]


@given(FRAMES, st.integers(1, 9))
def test_rows_side_by_side_hold_every_chosen_frame_once(frames: int, window: int) -> None:
    rows = sample(
        Sampling(every=3, window=window, stride=window, tail="pad"), frames=frames, times=np.arange(frames) / 25
    )
    assert rows.whole == every(frames, step=3).tolist()


def test_an_unknown_tail_is_named() -> None:
    with pytest.raises(ValueError, match=r"tail is 'wrap', allowed: drop, pad, loop, each"):
        windows(3, window=2, stride=1, tail="wrap")


def test_rows_say_what_they_are() -> None:
    times = np.array([0.0, 0.5, 1.0, 1.25, 2.0])
    rows = sample(Sampling(window=2, stride=2, tail="pad"), frames=5, times=times, duration=2.25)
    assert rows.indices.tolist() == [[0, 1], [2, 3], [4, 4]]
    assert (rows.first.tolist(), rows.last.tolist(), rows.valid.tolist()) == ([0, 2, 4], [1, 3, 4], [2, 2, 1])
    assert (rows.start.tolist(), rows.end.tolist()) == ([0.0, 1.0, 2.0], [1.0, 2.0, 2.25])


@given(FRAMES, st.integers(1, 50))
def test_every_is_range(frames: int, step: int) -> None:
    assert every(frames, step=step).tolist() == list(range(0, frames, step))


@given(FRAMES, st.integers(1, 100))
def test_uniform_is_symmetric_sorted_and_inside(frames: int, count: int) -> None:
    indices = uniform(frames, count=count)
    assert len(indices) == count
    assert (np.diff(indices) >= 0).all()
    assert indices[0] >= 0
    assert indices[-1] < frames
    gaps = np.diff(indices)
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1
    if count <= frames:
        assert len(np.unique(indices)) == count


@given(INTERVALS, st.floats(0.5, 60.0))
def test_rate_shows_the_frame_that_is_on_screen(intervals: list[float], fps: float) -> None:
    times = times_of(intervals)
    end = times[-1] + intervals[-1]
    indices = at_rate(times, fps=fps, end=end)
    ends = frame_ends(times, duration=end)
    moments = np.arange(len(indices)) / fps
    assert (times[indices] <= moments + 2e-6).all()
    assert (moments < ends[indices] + 2e-6).all()
    assert len(indices) == max(1, np.ceil((end - 1e-6) * fps))


@given(FRAMES, st.integers(1, 40), st.integers(1, 40), st.sampled_from(["drop", "pad", "loop"]))
def test_windows_hold_real_frames_in_order(frames: int, window: int, stride: int, tail: str) -> None:
    indices, valid = windows(frames, window=window, stride=stride, tail=tail)
    assert indices.shape == (len(valid), window)
    assert indices.size == 0 or (indices.min() >= 0 and indices.max() < frames)
    for row, (content, real) in enumerate(zip(indices, valid, strict=True)):
        assert content[:real].tolist() == list(range(row * stride, row * stride + real))
        repeated = content[real:].tolist()
        if tail == "pad":
            assert repeated == [content[real - 1]] * (window - real)
        if tail == "loop":
            assert repeated == [content[place % real] for place in range(real, window)]


@given(FRAMES, st.integers(1, 40), st.integers(1, 40))
def test_dropping_keeps_exactly_the_full_windows(frames: int, window: int, stride: int) -> None:
    indices, valid = windows(frames, window=window, stride=stride, tail="drop")
    starts = [start for start in range(0, frames, stride) if start + window <= frames]
    assert indices[:, 0].tolist() == starts
    assert (valid == window).all()


@given(FRAMES, st.integers(1, 40), st.data())
def test_padding_covers_every_frame_when_windows_touch(frames: int, window: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, window))
    indices, _ = windows(frames, window=window, stride=stride, tail="pad")
    assert np.unique(indices).tolist() == list(range(frames))
    full = windows(frames, window=window, stride=stride, tail="drop")[0]
    assert len(indices) - len(full) in (0, 1)


@given(INTERVALS, st.data())
def test_rows_tile_the_time_axis(intervals: list[float], data: st.DataObject) -> None:
    """Windows side by side: a row ends where the next one starts, and none leaves the video."""
    window = data.draw(st.integers(1, 20))
    times = times_of(intervals)
    duration = times[-1] + intervals[-1]
    spec = Sampling(window=window, stride=window, tail="pad")
    rows = sample(spec, frames=len(times), times=times, duration=duration)
    assert (rows.start[1:] == rows.end[:-1]).all()
    assert rows.start[0] == 0.0
    assert rows.end[-1] == duration


@pytest.mark.parametrize("spec", [Sampling(every=2), Sampling(count=3), Sampling(fps=2.0)])
def test_frame_rules_give_windows_of_one(spec: Sampling) -> None:
    rows = sample(spec, frames=4, times=np.array([0.0, 0.5, 1.0, 1.5]))
    assert rows.indices.shape == (len(rows), 1)
    assert (rows.valid == 1).all()
    assert (rows.first == rows.last).all()
    assert np.array_equal(rows.needed, np.unique(rows.indices))


@pytest.mark.parametrize(
    ("frames", "tail", "expected"),
    [
        (10, "drop", [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8]]),
        (8, "drop", [[0, 1, 2, 3, 4], [4, 5, 6, 7, 7]]),
        (10, "pad", [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [8, 9, 9, 9, 9]]),
        (10, "loop", [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [8, 9, 8, 9, 8]]),
        (8, "loop", [[0, 1, 2, 3, 4], [4, 5, 6, 7, 7]]),
        (1, "pad", [[0, 0, 0, 0, 0]]),
    ],
)
def test_a_window_may_need_the_frame_after_it(frames: int, tail: str, expected: list[list[int]]) -> None:
    rule = Sampling(window=4, stride=4, tail=tail)  # type: ignore[arg-type]
    rows = sample(rule, frames=frames, times=np.arange(frames) / 25, lookahead=1)

    assert rows.indices.tolist() == expected


def test_the_frame_after_a_sampled_one_is_the_videos_next_and_after_a_window_the_next_chosen() -> None:
    times = np.arange(9) / 25
    singles = sample(Sampling(every=4), frames=9, times=times, lookahead=1)
    windowed = sample(Sampling(every=2, window=2, stride=2), frames=9, times=times, lookahead=1)

    assert singles.indices.tolist() == [[0, 1], [4, 5], [8, 8]]
    assert windowed.indices.tolist() == [[0, 2, 4], [4, 6, 8]]


@given(
    frames=FRAMES, window=st.integers(1, 40), stride=st.integers(1, 40), tail=st.sampled_from(["drop", "pad", "loop"])
)
def test_frames_beyond_change_nothing_of_what_a_row_stands_for(
    frames: int, window: int, stride: int, tail: str
) -> None:
    """So that the rows of pictures and of flow lie side by side."""
    rule = Sampling(window=window, stride=stride, tail=tail)  # type: ignore[arg-type]
    alone, more = (sample(rule, frames=frames, times=np.arange(frames) / 25, lookahead=count) for count in (0, 1))

    for name in ("first", "last", "start", "end", "valid"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(more, name))
    np.testing.assert_array_equal(more.indices[:, :window], alone.indices)
