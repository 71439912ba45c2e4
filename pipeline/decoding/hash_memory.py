"""sha256 of files that nobody touched since they were hashed, so that a file is read once and not at every run.

The rule is that of git and DVC: a file is the same while its device, inode, size and times are. The time of change
(ctime) cannot be set back, so copying over it, replacing it and setting its times all show. Only a change in the
same tick of the clock would not: what was younger than RACY when its status was taken is not remembered, and hashed
again. Whoever knows the file better (a clock that went back, a file system without such times) has `decode --verify`.
"""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.core import FramescribeError, cache_folder, read_sealed_json, record_sha256, write_sealed_json
from pipeline.decoding.held_video import RACY

Mark = tuple[int, ...]  # of a file as it looks from outside; nothing of what is no file of this machine


def mark_of(path: str | Path) -> Mark:
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each of a million names takes longer than asking
    except OSError:
        return ()
    return as_mark(status)


def as_mark(status: os.stat_result) -> Mark:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_settled(mark: Mark, *, seen: float) -> bool:
    """Whether every change after `seen`, when the mark was taken, gives the file another mark."""
    return bool(mark) and seen - max(mark[-2:]) / 1e9 > RACY


class HashMemory:
    """Of the files of one place. What it says may be used for no more than to look up what is known of the content."""

    def __init__(self, *places: object) -> None:
        self._file = cache_folder("hashes") / f"{record_sha256([str(Path.cwd()), *map(str, places)])}.json"
        self._known = read_hashes(self._file)
        self._now: dict[str, list[int | str]] = {}

    def sha256(self, path: str, mark: Mark) -> str | None:
        found = self._known.get(path, [])
        if not mark or tuple(found[:-1]) != mark:
            return None
        self._now[path] = found
        return str(found[-1])

    def remember(self, path: str, mark: Mark, sha256: str, *, hashed: Mark, seen: float) -> None:
        """The mark was taken at `seen`, before a file was opened and `hashed`: the same one, though perhaps elsewhere.

        Another machine gives the device of a shared folder another number.
        """
        if mark[1:] == hashed[1:] and is_settled(mark, seen=seen):
            self._now[path] = [*mark, sha256]

    def save(self) -> None:
        """Files that are gone are forgotten; nothing is written when nothing changed."""
        if self._now != self._known:
            write_sealed_json(self._file, {"files": self._now}, indent=None)


def read_hashes(file: Path) -> dict[str, list[int | str]]:
    """Path -> its mark, and behind it the sha256."""
    try:
        files: dict[str, list[int | str]] = read_sealed_json(file, hint="")["files"]
    except FramescribeError:  # none, or damaged: every file is hashed
        return {}
    return files
