"""The same bytes under a second name, for nothing where the file system can: files that are published never change."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

_FICLONE = 0x40049409  # ioctl of Linux: the target shares the source's blocks until one of the two is written to
_without_clones: set[int] = set()  # file systems that were asked


def link_file(source: Path, target: Path) -> None:
    """By a clone, else a hard link, else a copy; FileNotFoundError when there is no source."""
    if not (_cloned(source, target) or _linked(source, target)):
        shutil.copyfile(source, target)
        with target.open("rb") as stream:
            os.fsync(stream.fileno())


def _cloned(source: Path, target: Path) -> bool:
    device = source.stat().st_dev
    if device in _without_clones or device != target.parent.stat().st_dev:
        return False
    with source.open("rb") as original, target.open("xb") as clone:
        try:
            fcntl.ioctl(clone.fileno(), _FICLONE, original.fileno())
        except OSError:
            _without_clones.add(device)
            target.unlink()
            return False
    return True


def _linked(source: Path, target: Path) -> bool:
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, too many links, or a file system without any
        return False
    return True
