"""The videos as they were listed: DVC records the folder when the command ends, so the index must be of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.core import DecodeError, differences
from pipeline.decoding.hash_memory import Mark, mark_of
from pipeline.decoding.held_video import held
from pipeline.decoding.limits import Limits
from pipeline.decoding.video_files import VideoPlace, find_videos
from pipeline.index import QuarantineRow, VideoRow


@dataclass(frozen=True)
class ListedVideos:
    """Files by id, and what each looked like from outside."""

    place: VideoPlace | Sequence[VideoPlace]
    paths: dict[str, VideoPlace]
    marks: dict[str, Mark]  # path -> mark
    seen: float  # by the clock, before the marks were taken

    @property
    def places(self) -> Sequence[VideoPlace]:
        return [self.place] if isinstance(self.place, Path | str) else self.place

    def changes(self, rows: Iterable[VideoRow | QuarantineRow], *, limits: Limits) -> list[str]:
        """Files that came, went, or are no longer what their row tells of; one whose row says `changed` was told of."""
        now = marks_of(find_videos(self.place).values())
        for row in rows:
            if row.path in now and _is_as_told(row, self.marks[row.path] == now[row.path], limits):
                now[row.path] = self.marks[row.path]
        return differences(self.marks, now)


def list_videos(place: VideoPlace | Sequence[VideoPlace]) -> ListedVideos:
    paths, seen = find_videos(place), time.time()
    return ListedVideos(place, paths, marks_of(paths.values()), seen)


def marks_of(paths: Iterable[VideoPlace]) -> dict[str, Mark]:
    return {name: mark_of(name) for name in map(str, paths)}


def _is_as_told(row: VideoRow | QuarantineRow, untouched: bool, limits: Limits) -> bool:
    """A file that was only touched has the same content; what was refused is not looked at again."""
    if isinstance(row, QuarantineRow):
        return untouched or row.reason == "changed"
    return untouched or _sha256(row.path, limits) == row.sha256


def _sha256(path: str, limits: Limits) -> str:
    with suppress(DecodeError), held(path, limits=limits) as video:
        return video.sha256
    return ""
