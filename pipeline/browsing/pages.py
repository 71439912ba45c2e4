"""Long lists in pages, and files that are read again only when they changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

NUMBERS = re.compile(r"(\d+)")
Item = TypeVar("Item")
Content = TypeVar("Content")
Mark = tuple[int, int, int]  # of a file: when it was written, its size, its number


@dataclass(frozen=True)
class Paged(Generic[Item]):
    items: Sequence[Item]
    page: int  # from 1
    pages: int
    count: int  # of all items
    first: int  # place of the first one shown, from 1; 0 of none


def paged(items: Sequence[Item], page: int, *, size: int) -> Paged[Item]:
    """A page beyond the ends is the nearest there is: a shared link outlives what it was made for."""
    pages = max(1, -(-len(items) // size))
    at = min(max(page, 1), pages)
    shown = items[(at - 1) * size : at * size]
    return Paged(shown, at, pages, len(items), (at - 1) * size + 1 if shown else 0)


def by_number(name: str) -> list[str]:
    """A key for sorting: video2 stands before video10."""
    return [part.zfill(20) if part.isdigit() else part for part in NUMBERS.split(name)]


def mark_of(path: Path) -> Mark:
    """All zeros where there is no file."""
    try:
        facts = path.stat()
    except OSError:
        return 0, 0, 0
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def kept(read: Callable[[Path], Content], *, files: int) -> Callable[[Path], Content]:
    """`read` of a file, remembered for the last `files` of them as long as the file is the same."""

    @lru_cache(maxsize=files)
    def known(path: Path, mark: Mark) -> Content:
        del mark
        return read(path)

    return lambda path: known(path, mark_of(path))
