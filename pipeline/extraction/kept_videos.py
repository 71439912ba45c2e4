"""What the cache has of a run: whole shards at best, else single videos. Nothing is decoded, and no network is built.

A shard is known by its videos' keys and by what the index says of their rows, so one that is known was looked at
when it was made. Only the videos of other shards are looked at one by one. Memory has the ids of all videos, and more
than that of one shard only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.cache import CachedShards, entry_path, note_use
from pipeline.core import Derived
from pipeline.extraction.planned_rows import is_kept
from pipeline.extraction.task import Task
from pipeline.index import VideoIndex
from pipeline.store import members_of, shard_count


@dataclass(frozen=True)
class Kept:
    missing: list[str]  # videos that have something to compute
    changed: set[str]  # the videos of shards that have to be written


class KeptVideos:
    """Of one index, and the extractors of one run."""

    def __init__(self, tasks: Sequence[Task], index: VideoIndex) -> None:
        self.tasks, self.index = tasks, index
        self.shards = {task.name: CachedShards(_contents(task, index)) for task in tasks}

    def look_up(self) -> Kept:
        missing, changed = [], set()
        for ids in members_of(self.index.rows, shard_count(len(self.index.rows))).values():
            if not all(self._is_whole(task, ids) for task in self.tasks):
                missing += [video_id for video_id in ids if not self._is_kept(video_id)]
                changed |= {*ids}
        return Kept(missing, changed)

    def _is_whole(self, task: Task, ids: Sequence[str]) -> bool:
        """The entries are used, too: when another video comes to their shard, they are needed again."""
        used = [note_use(entry_path(task.key_of(self.index.rows[video_id]))) for video_id in ids]
        return all(used) and self.shards[task.name].find(ids) is not None

    def _is_kept(self, video_id: str) -> bool:
        row, times = self.index.rows[video_id], self.index.times(video_id)
        return all(is_kept(task, task.key_of(row), row=row, times=times) for task in self.tasks)


def _contents(task: Task, index: VideoIndex) -> Derived[str]:
    """All that decides a video's features, and all that the index says and rows follow from."""

    def content(video_id: str) -> str:
        row = index.rows[video_id]
        facts = (row.frames, row.duration, row.start, row.audio, row.audio_start, row.audio_end)
        rows = hashlib.sha256(repr(facts).encode() + index.times(video_id).tobytes()).hexdigest()
        return f"{task.key_of(row)} {rows}"

    return Derived(index.rows, content)
