"""Sampling against plain loops: tails with frames that follow, sound windows, the seconds of frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pipeline.extraction.sampling import (
    at_rate,
    every,
    frame_ends,
    frames_between,
    sample,
    sound_windows,
    uniform,
    windows,
    with_lookahead,
)
from pipeline.params.extract import Sampling

SMALL = st.integers(1, 12)
FILLED, SOUND = st.sampled_from(["pad", "loop"]), st.sampled_from(["drop", "pad"])


def test_a_looped_tail_goes_on_where_the_loop_is() -> None:
    """Three frames in a window of four: 0 1 2 0, then 1 2. Of two windows the first is full: the next frames follow."""
    short = sample(Sampling(window=4, stride=4, tail="loop"), frames=3, times=np.arange(3) / 25, lookahead=2)
    longer = sample(Sampling(window=4, stride=4, tail="loop"), frames=7, times=np.arange(7) / 25, lookahead=2)

    assert short.indices.tolist() == [[0, 1, 2, 0, 1, 2]]
    assert longer.indices.tolist() == [[0, 1, 2, 3, 4, 5], [4, 5, 6, 4, 5, 6]]


@given(
    frames=st.integers(1, 40), window=SMALL, stride=SMALL, more=st.integers(0, 5), tail=st.sampled_from(["pad", "loop"])
)
def test_frames_that_follow_are_those_of_a_longer_window(
    frames: int, window: int, stride: int, more: int, tail: str
) -> None:
    """A full window is followed by the video's next frames, or its last again; a looped one loops on."""
    places, valid = windows(frames, window=window, stride=stride, tail=tail)
    found = with_lookahead(places, valid, frames=frames, lookahead=more, looping=tail == "loop")

    for row, (content, real) in enumerate(zip(found.tolist(), valid.tolist(), strict=True)):
        start = row * stride
        if tail == "loop" and real < window:
            assert content == [start + place % real for place in range(window + more)]
        else:
            assert content == [min(start + place, frames - 1) for place in range(window + more)]


def test_a_single_frame_is_followed_by_the_videos_next_ones() -> None:
    rows = sample(Sampling(every=3), frames=5, times=np.arange(5) / 25, lookahead=2)

    assert rows.indices.tolist() == [[0, 1, 2], [3, 4, 4]]
    assert rows.last.tolist() == [0, 3]


@given(
    samples=st.integers(0, 60), window=SMALL, hop=SMALL, lead=st.integers(0, 8), tail=st.sampled_from(["drop", "pad"])
)
def test_windows_of_sound_are_those_that_a_loop_finds(
    samples: int, window: int, hop: int, lead: int, tail: str
) -> None:
    """The first always; then those that end inside, and when padded one more that holds samples no other does."""
    starts = [-lead]
    while True:
        start, covered = starts[-1] + hop, starts[-1] + window
        ends_inside = start + window <= samples
        holds_more = tail == "pad" and covered < samples and start < samples
        if not (ends_inside or holds_more):
            break
        starts.append(start)

    assert sound_windows(samples, window=window, hop=hop, lead=lead, tail=tail).tolist() == starts


def test_sound_knows_two_tails_and_leads_by_nothing_unless_told() -> None:
    assert sound_windows(10, window=4, hop=4, tail="pad").tolist() == [0, 4, 8]
    with pytest.raises(ValueError, match="tail is 'loop', allowed for sound: drop, pad"):
        sound_windows(10, window=4, hop=4, tail="loop")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 40), st.integers(1, 40))
def test_frames_between_two_seconds_are_those_on_screen(lengths: list[int], start: int, length: int) -> None:
    """In tenths of a second; what comes after the last frame still shows it."""
    shown = np.repeat(np.arange(len(lengths)), lengths).tolist() + [len(lengths) - 1] * 100  # per tenth
    times = np.concatenate([[0], np.cumsum(lengths)[:-1]]) / 10
    first, last = frames_between(times, np.array([start / 10]), np.array([(start + length) / 10]))

    assert (first[0], last[0]) == (shown[start], shown[start + length - 1])


def test_a_span_of_no_time_still_has_a_frame() -> None:
    first, last = frames_between(np.array([0.0, 0.5, 1.0]), np.array([0.5]), np.array([0.5]))

    assert (first.tolist(), last.tolist()) == ([1], [1])


def test_the_last_frame_is_shown_for_a_mean_interval_or_until_the_duration() -> None:
    times = np.array([1.0, 1.5, 3.0])

    assert frame_ends(times).tolist() == [1.5, 3.0, 4.0]
    assert frame_ends(times[:2]).tolist() == [1.5, 2.0]
    assert frame_ends(times[:1]).tolist() == [1.0]
    assert frame_ends(times, duration=2.5).tolist() == [1.5, 3.0, 3.5]
    assert frame_ends(times, duration=0.5).tolist() == [1.5, 3.0, 3.0]  # never before it came
    assert frame_ends(times[:0]).tolist() == []


def test_a_rate_counts_from_the_first_frame_and_shows_at_least_that() -> None:
    times = np.array([10.0, 10.5, 11.0, 11.5])

    assert at_rate(times, fps=1.0, end=12.0).tolist() == [0, 2]
    assert at_rate(times, fps=2.0, end=11.0).tolist() == [0, 1]
    assert at_rate(times[:1], fps=0.1, end=10.0).tolist() == [0]
    assert at_rate(times[:0], fps=1.0, end=0.0).tolist() == []


def test_a_video_without_frames_has_no_rows() -> None:
    assert uniform(0, count=3).tolist() == []
    assert uniform(1, count=2).tolist() == [0, 0]
    assert every(0, step=2).tolist() == []
    for rule in ({"every": 2}, {"count": 3}, {"fps": 2.0}):
        rows = sample(Sampling.model_validate(rule), frames=0, times=np.empty(0))
        assert (len(rows), rows.indices.shape) == (0, (0, 1))


def test_an_offset_into_a_video_as_short_takes_its_last_frame() -> None:
    assert [every(frames, step=4, offset=3).tolist() for frames in (1, 3, 4, 8)] == [[0], [2], [3], [3, 7]]


@given(frames=st.integers(0, 40), window=SMALL, stride=SMALL)
def test_a_tail_is_added_exactly_when_frames_remain(frames: int, window: int, stride: int) -> None:
    full = [start for start in range(0, frames, stride) if start + window <= frames]
    covered, following = (full[-1] + window, full[-1] + stride) if full else (0, 0)
    tail = [following] if covered < frames and following < frames else []

    assert windows(frames, window=window, stride=stride, tail="pad")[0][:, 0].tolist() == full + tail
    assert windows(frames, window=window, stride=stride, tail="each")[0][:, 0].tolist() == list(
        range(0, frames, stride)
    )
