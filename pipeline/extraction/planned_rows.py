"""The rows that a video will have, and whether the cache has them: known from the index before anything is decoded."""

from __future__ import annotations

import numpy as np

from pipeline.cache import get_features
from pipeline.core import DecodeError
from pipeline.extraction.sampling import SampledRows, sample
from pipeline.extraction.sound_rows import are_rows_of, window_starts
from pipeline.extraction.task import Task
from pipeline.index import VideoRow
from pipeline.params import Extract
from pipeline.store import Rows

MOST_ROWS = 10_000_000  # of one video; four days at 25 frames a second
AGAIN = "framescribe decode makes the index again"


def is_kept(task: Task, key: str, *, row: VideoRow, times: np.ndarray) -> bool:
    """Whether the cache has the features, of the rows that the index's times give now.

    The key says which bytes were decoded; the times came from the index, which may have been damaged and repaired.
    """
    entry = get_features(key)
    if entry is None:
        return False
    try:
        return _fits(task, entry.rows, row=row, times=times)
    except DecodeError:
        return False


def _fits(task: Task, rows: Rows, *, row: VideoRow, times: np.ndarray) -> bool:
    if task.facts.sound is None:
        return same_rows(rows, row_table(frame_rows(task, row=row, times=times)))
    require_times(task.params, row=row, times=times)
    return are_rows_of(rows, task.facts.sound, task.params.sampling, row=row, times=times)


def row_count(task: Task, *, row: VideoRow, times: np.ndarray) -> int:
    """None of a video that will fail."""
    try:
        require_times(task.params, row=row, times=times)
    except DecodeError:
        return 0
    if task.facts.sound is not None:
        return len(window_starts(task.facts.sound, task.params.sampling, duration=row.duration))
    return len(frame_rows(task, row=row, times=times))


def frame_rows(task: Task, *, row: VideoRow, times: np.ndarray) -> SampledRows:
    """Times that give no sensible rows are this video's failure, not that of all."""
    require_times(task.params, row=row, times=times)
    return sample(task.params.sampling, frames=row.frames, times=times, lookahead=task.facts.lookahead)


def require_times(params: Extract, *, row: VideoRow, times: np.ndarray) -> None:
    if not (np.isfinite(times).all() and np.isfinite([row.duration, row.start]).all()):
        raise DecodeError("bad-times", f"'{row.path}' has presentation times that are no numbers", hint=AGAIN)
    rule = params.sampling
    rate = rule.fps or (1 / rule.hop if rule.hop else 0.0)
    if (rows := max(row.duration, times.max(initial=0.0)) * rate) > MOST_ROWS:
        raise DecodeError("bad-times", f"'{row.path}' would have {rows:.3g} rows, at most {MOST_ROWS} are made")


def same_rows(one: Rows, other: Rows) -> bool:
    theirs = other.columns()
    return all(np.array_equal(column, theirs[name]) for name, column in one.columns().items())


def row_table(rows: SampledRows) -> Rows:
    return Rows(first_frame=rows.first, last_frame=rows.last, start=rows.start, end=rows.end, valid=rows.valid)
