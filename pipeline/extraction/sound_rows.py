"""The rows of sound: which seconds and frames a window stands for. They follow from the index alone."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pipeline.extraction import sampling
from pipeline.index import VideoRow
from pipeline.params import Sampling
from pipeline.store import Rows

EDGE = 0.1  # seconds, beyond what resampling and rounding move the ends of a sound by


class SoundWindows(Protocol):
    """What an extractor of sound says of its windows, in samples."""

    @property
    def rate(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def lead(self) -> int: ...


def sound_state(row: VideoRow) -> str:
    """`present`, `silent`, `absent` or `unreadable`, from the index."""
    return "silent" if row.audio == "present" and row.audio_peak == 0 else row.audio


def window_starts(windows: SoundWindows, rule: Sampling, *, duration: float) -> np.ndarray:
    if rule.hop is None:
        raise ValueError("sampling names no rule for sound: give hop")
    return sampling.sound_windows(
        round(duration * windows.rate),
        window=windows.window,
        hop=max(1, round(rule.hop * windows.rate)),
        lead=windows.lead,
        tail=rule.tail,
    )


def sound_rows(
    starts: np.ndarray, windows: SoundWindows, *, times: np.ndarray, duration: float, audible: tuple[float, float]
) -> Rows:
    """Seconds of the video, the frames shown in them, and in how many of these frames there is true sound."""
    start = np.clip(starts / windows.rate, 0, duration)
    end = np.clip((starts + windows.window) / windows.rate, 0, duration)
    first, last = sampling.frames_between(times, start, end)
    from_, until = np.maximum(start, audible[0]), np.minimum(end, audible[1])
    first_audible, last_audible = sampling.frames_between(times, from_, until)
    valid = np.where(until - from_ > sampling.CLOCK_TOLERANCE, last_audible - first_audible + 1, 0)
    return Rows(first_frame=first, last_frame=last, start=start, end=end, valid=valid)


def are_rows_of(rows: Rows, windows: SoundWindows, rule: Sampling, *, row: VideoRow, times: np.ndarray) -> bool:
    """Whether rows are those that the index gives; where sound begins and ends it knows to a few samples only."""
    starts = window_starts(windows, rule, duration=row.duration)

    def table(slack: float) -> dict[str, np.ndarray]:
        audible = (row.audio_start - slack, row.audio_end + slack)
        return sound_rows(starts, windows, times=times, duration=row.duration, audible=audible).columns()

    found, least, most = rows.columns(), table(-EDGE), table(EDGE)
    if any(not np.array_equal(found[name], most[name]) for name in ("first_frame", "last_frame", "start", "end")):
        return False
    return bool(np.all((least["valid"] <= found["valid"]) & (found["valid"] <= most["valid"])))
