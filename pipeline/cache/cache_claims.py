"""Which stages are at work on the cache: what they use is not collected until they end.

A claim is a file with the name of its process, so that one of a killed process is known and removed. Its text is the
time of its beginning; a stage says that it still runs by touching it, which other machines can see.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.core import atomic, cache_folder

TOUCH_EVERY = 600.0  # seconds; a claim of another machine counts as left behind after a day


@contextmanager
def claimed() -> Iterator[None]:
    """What is used or made from now on stays in the cache until the block ends."""
    path = _folder() / atomic.own_name("claim")
    with atomic.named_when_full(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.write_text(repr(path.stat().st_mtime))  # by the clock of the file system, which dates entries as well
    ended = threading.Event()
    threading.Thread(target=_keep_touching, args=(path, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        path.unlink(missing_ok=True)


def first_claim() -> float:
    """When the longest running stage began; of none, never."""
    atomic.sweep(_folder())
    return min((_beginning(path) for path in _folder().glob(".claim.*.tmp")), default=float("inf"))


def _keep_touching(path: Path, ended: threading.Event) -> None:
    while not ended.wait(TOUCH_EVERY):
        with suppress(FileNotFoundError):
            os.utime(path)


def _beginning(path: Path) -> float:
    """Of a claim that is just being written, its age; it is a moment old."""
    try:
        return float(path.read_text() or path.stat().st_mtime)
    except FileNotFoundError:  # its stage has just ended
        return float("inf")
    except ValueError:  # damaged: then nothing is collected
        return 0.0


def _folder() -> Path:
    return cache_folder("claims")
