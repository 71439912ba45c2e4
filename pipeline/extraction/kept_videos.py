"""What the cache has of a run: whole shards at best, else single videos. Nothing is decoded, and no network is built.

A shard is known by its videos' keys and by what the index says of their rows, so one that is known was looked at
when it was made. Only the videos of other shards are looked at one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.cache import CachedShards, entry_path, note_use
from pipeline.extraction.planned_rows import is_kept
from pipeline.extraction.task import Task
from pipeline.extraction.video_result import VideoResult
from pipeline.index import VideoIndex, VideoRow
from pipeline.store import members_of, shard_count


@dataclass(frozen=True)
class Kept:
    results: list[VideoResult]  # of videos that have nothing to compute
    changed: set[str]  # the videos of shards that have to be written


class KeptVideos:
    """Of one index, and the extractors of one run."""

    def __init__(self, tasks: Sequence[Task], index: VideoIndex) -> None:
        self.tasks, self.index = tasks, index
        self.keys = {task.name: {row.id: task.key_of(row) for row in index.rows.values()} for task in tasks}
        rows = {row.id: _rows_sha256(row, index.times(row.id)) for row in index.rows.values()}
        self.shards = {
            name: CachedShards({video_id: f"{key} {rows[video_id]}" for video_id, key in keys.items()})
            for name, keys in self.keys.items()
        }

    def look_up(self) -> Kept:
        results, changed = [], set()
        for ids in members_of(self.index.rows, shard_count(len(self.index.rows))).values():
            if all(self._is_whole(task, ids) for task in self.tasks):
                results += [self._result(video_id) for video_id in ids]
            else:
                results += [self._result(video_id) for video_id in ids if self._is_kept(video_id)]
                changed |= {*ids}
        return Kept(results, changed)

    def _is_whole(self, task: Task, ids: Sequence[str]) -> bool:
        """The entries are used, too: when another video comes to their shard, they are needed again."""
        used = [note_use(entry_path(self.keys[task.name][video_id])) for video_id in ids]
        return all(used) and self.shards[task.name].find(ids) is not None

    def _is_kept(self, video_id: str) -> bool:
        row, times = self.index.rows[video_id], self.index.times(video_id)
        return all(is_kept(task, self.keys[task.name][video_id], row=row, times=times) for task in self.tasks)

    def _result(self, video_id: str) -> VideoResult:
        return VideoResult(video_id, {name: keys[video_id] for name, keys in self.keys.items()})


def _rows_sha256(row: VideoRow, times: np.ndarray) -> str:
    """Of all that the index says and rows follow from."""
    facts = (row.frames, row.duration, row.start, row.audio, row.audio_start, row.audio_end)
    return hashlib.sha256(repr(facts).encode() + times.tobytes()).hexdigest()
