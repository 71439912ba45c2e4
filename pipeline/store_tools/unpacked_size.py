"""What foreign files become when they are read, known before a byte of them is unpacked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pipeline.core import InputError

ALWAYS_READ = 1 << 30  # bytes below which nothing is suspicious
LARGEST_RATIO = 100  # unpacked to packed: features shrink by 2 to 10; what a kilobyte of zeros becomes has no end


def require_size(source: Path, files: Sequence[Path], sizes: Sequence[int], *, out: Path) -> None:
    """`sizes` are the bytes of the pieces that are read one at a time."""
    packed, unpacked, largest = sum(file.stat().st_size for file in files), sum(sizes), max(sizes, default=0)
    says = f"'{source}' has {packed:,} bytes and says that its arrays have {unpacked:,}"
    if unpacked > max(ALWAYS_READ, LARGEST_RATIO * packed):
        raise InputError(f"{says}; more than {LARGEST_RATIO} times as many are not read", hint="is it the right file?")
    if unpacked > (free := shutil.disk_usage(_existing(out)).free):
        raise InputError(f"{says}; the disk of {out} has {free:,} left", hint="give a folder on a larger disk")
    if largest > (memory := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):
        told = f"'{source}' has a piece of {largest:,} bytes, this machine has {memory:,} of memory"
        raise InputError(told, hint="save it as one file or array per video")


def _existing(path: Path) -> Path:
    return next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
