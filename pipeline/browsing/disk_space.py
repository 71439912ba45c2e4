"""What the project and the caches take on their disks; counting walks over all files, so it is done twice a minute."""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pipeline import cache
from pipeline.core import Console, cache_root

FOLDERS = ("data", "features", "runs", "predictions", "evaluation", "weights", "report", "logs", ".dvc/cache")
SECONDS = 30.0
_once = threading.Lock()


@dataclass(frozen=True)
class Disk:
    path: str
    used: int
    free: int
    total: int


@dataclass(frozen=True)
class FolderUse:
    name: str
    bytes: int
    files: int


@dataclass(frozen=True)
class DiskUse:
    disks: tuple[Disk, ...]  # of the project, and of the cache where it is another
    folders: tuple[FolderUse, ...]
    cache: tuple[FolderUse, ...]


def disk_use(root: Path = Path()) -> DiskUse:
    with _once:
        return _counted(root.resolve(), int(time.monotonic() / SECONDS))


@lru_cache(maxsize=1)
def _counted(root: Path, moment: int) -> DiskUse:
    del moment
    places = {place.stat().st_dev: place for place in (cache_root(), root) if place.is_dir()}
    disks = [Disk(str(place), *_space(place)) for place in reversed(places.values())]
    folders = [FolderUse(name, *_size(root / name)) for name in FOLDERS if (root / name).is_dir()]
    return DiskUse(tuple(disks), tuple(folders), tuple(_cache()))


def _space(place: Path) -> tuple[int, int, int]:
    found = shutil.disk_usage(place)
    return found.used, found.free, found.total


def _size(folder: Path) -> tuple[int, int]:
    """Bytes and files; a file that two names have counts twice, as it does for whoever removes one of them."""
    size = files = 0
    for above, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(above, name)).st_size  # noqa: PTH118 - of a hundred thousand files
                files += 1
            except OSError:  # just removed
                continue
    return size, files


def _cache() -> list[FolderUse]:
    """What `framescribe cache status` says."""
    told = cache.show_usage(Console(quiet=True))
    kinds = {"features": told} | {name: told[name] for name in ("graphs", "shards")}
    found = [FolderUse(name, facts["bytes"], facts["entries"]) for name, facts in kinds.items()]
    return found + [FolderUse(name, size, 0) for name, size in told["others"].items()]
