"""Sampling: pure functions from a frame count and presentation times to frame indices. No pixels, no files.

Every rule is exact arithmetic, explained in docs/decoding.md; the same numbers give the same rows everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.params import Sampling

CLOCK_TOLERANCE = 1e-6  # seconds; absorbs the rounding of presentation times, finer than any real time base
TAILS = ("drop", "pad", "loop", "each")


@dataclass(frozen=True)
class SampledRows:
    """One row per sampled frame or window: which frames it is made of, and which span of time it stands for."""

    indices: np.ndarray  # (rows, window + lookahead) int64, frames in the order the network takes them
    first: np.ndarray  # (rows,) int64, first real frame
    last: np.ndarray  # (rows,) int64, last real frame
    start: np.ndarray  # (rows,) float64, second at which the first frame is shown
    end: np.ndarray  # (rows,) float64, second at which the last frame stops being shown
    valid: np.ndarray  # (rows,) int64, real frames in the window; the rest repeats them

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def needed(self) -> np.ndarray:
        """The frames to decode: sorted, each once."""
        return np.unique(self.indices)

    @property
    def whole(self) -> list[int]:
        """The real frames of all rows in order: of rows side by side, everything that was chosen."""
        return self.indices[np.arange(self.indices.shape[1]) < self.valid[:, None]].tolist()


def sample(
    sampling: Sampling, *, frames: int, times: np.ndarray, duration: float | None = None, lookahead: int = 0
) -> SampledRows:
    """The rows of a video of `frames` frames shown at `times`, as `sampling` states.

    `lookahead` more frames follow each row's own, as a network on the changes between frames needs; the row stands
    for the same frames and seconds as without them.
    """
    ends = frame_ends(times, duration=duration)
    chosen = _chosen_frames(sampling, frames=frames, times=times, ends=ends)
    if sampling.window is not None and sampling.stride is not None:
        places, valid = windows(len(chosen), window=sampling.window, stride=sampling.stride, tail=sampling.tail)
        looping = sampling.tail == "loop"
        indices = chosen[with_lookahead(places, valid, frames=len(chosen), lookahead=lookahead, looping=looping)]
    else:
        valid = np.ones(len(chosen), np.int64)
        indices = with_lookahead(chosen[:, None], valid, frames=frames, lookahead=lookahead)
    return _rows(indices, valid, times=times, ends=ends)


def every(frames: int, *, step: int, offset: int = 0) -> np.ndarray:
    """Frames offset, offset + step, ...; of a video that ends before `offset`, its last frame."""
    return np.arange(min(offset, max(frames - 1, 0)), frames, step, dtype=np.int64)


def uniform(frames: int, *, count: int) -> np.ndarray:
    """The middle frame of each of `count` equal parts, floor((2i + 1) frames / 2 count); repeats if frames < count."""
    if frames == 0:
        return np.empty(0, np.int64)
    return (2 * np.arange(count, dtype=np.int64) + 1) * frames // (2 * count)


def at_rate(times: np.ndarray, *, fps: float, end: float) -> np.ndarray:
    """The frame on screen at times[0] + j / fps, for every such moment before `end`."""
    if len(times) == 0:
        return np.empty(0, np.int64)
    moments = max(1, int(np.ceil((end - times[0] - CLOCK_TOLERANCE) * fps)))
    clock = times[0] + np.arange(moments) / fps
    return np.searchsorted(times, clock + CLOCK_TOLERANCE, side="right").astype(np.int64) - 1


def windows(frames: int, *, window: int, stride: int, tail: str) -> tuple[np.ndarray, np.ndarray]:
    """Windows starting at 0, stride, 2 stride, ...: indices (rows, window) and the number of real frames of each.

    `drop` keeps full windows only. `pad` and `loop` add one window at the next start when frames remain that no
    window covers: `pad` repeats its last frame, `loop` starts again at its first. `each` has a padded window at every
    start there is, so that its rows line up with those of `every: stride`.
    """
    if tail not in TAILS:
        raise ValueError(f"tail is '{tail}', allowed: {', '.join(TAILS)}")
    full = max(0, (frames - window) // stride + 1)
    covered = (full - 1) * stride + window if full else 0
    has_tail = tail != "drop" and covered < frames and full * stride < frames
    count = -(-frames // stride) if tail == "each" else full + has_tail
    starts = np.arange(count, dtype=np.int64) * stride
    valid = np.minimum(window, frames - starts)  # (rows,)
    offsets = np.broadcast_to(np.arange(window, dtype=np.int64), (len(starts), window))
    inside = offsets % valid[:, None] if tail == "loop" else np.minimum(offsets, valid[:, None] - 1)
    return starts[:, None] + inside, valid


def sound_windows(samples: int, *, window: int, hop: int, lead: int = 0, tail: str) -> np.ndarray:
    """First sample of each window of a sound: -lead, hop - lead, ... Outside the sound there are zeros.

    `drop` keeps the windows that end inside, `pad` adds one when samples remain that no window covers. A sound too
    short for one window still has one.
    """
    if tail not in ("drop", "pad"):
        raise ValueError(f"tail is '{tail}', allowed for sound: drop, pad")
    rest = samples + lead - window  # samples after the first window
    steps = rest // hop if tail == "drop" else min(-(-rest // hop), (samples + lead - 1) // hop)
    return np.arange(1 + max(0, steps), dtype=np.int64) * hop - lead


def frames_between(times: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last frame that is on screen at some moment of the seconds [start, end); at least one."""
    first = np.searchsorted(times, start + CLOCK_TOLERANCE, side="right").astype(np.int64) - 1
    last = np.searchsorted(times, end - CLOCK_TOLERANCE, side="left").astype(np.int64) - 1
    return first, np.maximum(first, last)


def with_lookahead(
    indices: np.ndarray, valid: np.ndarray, *, frames: int, lookahead: int, looping: bool = False
) -> np.ndarray:
    """Rows and the `lookahead` frames after them, (rows, window + lookahead); the last frame repeats at the end.

    With `looping`, a window that was filled from its own beginning goes on in the same way.
    """
    window = indices.shape[1]
    offsets = np.arange(window, window + lookahead)[None]
    next_ones = np.minimum(indices[:, :1] + offsets, frames - 1)
    looped = indices[:, :1] + offsets % valid[:, None]
    filled = looping & (valid[:, None] < window)
    return np.concatenate([indices, np.where(filled, looped, next_ones)], axis=1)


def frame_ends(times: np.ndarray, *, duration: float | None = None) -> np.ndarray:
    """When each frame leaves the screen: as the next one comes; the last after `duration`, or after a mean interval."""
    if len(times) == 0:
        return np.empty(0)
    mean_interval = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    last = times[-1] + mean_interval if duration is None else times[0] + duration
    return np.append(times[1:], max(last, times[-1]))


def _chosen_frames(sampling: Sampling, *, frames: int, times: np.ndarray, ends: np.ndarray) -> np.ndarray:
    if sampling.every is not None:
        return every(frames, step=sampling.every, offset=sampling.offset or 0)
    if sampling.count is not None:
        return uniform(frames, count=sampling.count)
    if sampling.fps is not None:
        return at_rate(times, fps=sampling.fps, end=float(ends[-1]) if len(ends) else 0.0)
    return every(frames, step=1)


def _rows(indices: np.ndarray, valid: np.ndarray, *, times: np.ndarray, ends: np.ndarray) -> SampledRows:
    first = indices[:, 0]
    last = np.take_along_axis(indices, valid[:, None] - 1, axis=1)[:, 0]  # the repeated frames come after it
    return SampledRows(indices, first=first, last=last, start=times[first], end=ends[last], valid=valid)
