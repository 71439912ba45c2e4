"""Where a store is, by what a user calls it: a name in features/, a folder, or a URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.core import InputError, UsageError
from pipeline.remote import is_url
from pipeline.store import FEATURES, MANIFEST, local_folder


def folder_of(name: str) -> Path:
    """Of a store that is read; of one at a URL, the checked copy in the cache."""
    if is_url(name):
        return local_folder(name)
    return Path(name) if Path(name).is_dir() or "/" in name else FEATURES / name


def own_folder(name: str) -> Path:
    """Of a store that is to be written: a copy of something at a URL would be the wrong one."""
    if is_url(name):
        raise UsageError(f"{name} is read here, not written; work on a folder, then push it")
    return folder_of(name)


def folders_of(names: Sequence[str]) -> list[Path]:
    """All stores when none is named."""
    return [folder_of(name) for name in names] or all_stores()


def all_stores() -> list[Path]:
    if not FEATURES.is_dir():
        raise InputError(
            f"there is no folder '{FEATURES}' in {Path.cwd()}: this is not a project",
            hint="run this from the project's root, or name a store's folder",
        )
    return sorted(path.parent for path in FEATURES.glob(f"*/{MANIFEST}"))
