"""A cache that machines share without a file system in common: each entry also goes to, and comes from, a URL.

Set FRAMESCRIBE_CACHE_URL on every machine. The local cache stays in front; entries are named by content, written once
and checked by their readers, so that an object which is late, lost or damaged costs time and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pipeline.core import cache_folder, cache_root
from pipeline.remote.transfer import AbsentError, fetch, require_url, send

VARIABLE = "FRAMESCRIBE_CACHE_URL"


def bring(path: Path) -> None:
    """Fetch a missing entry of the local cache, if the shared one has it."""
    if (url := _shared(path)) is None or path.is_file():
        return
    try:
        fetch(url, path)
    except AbsentError:
        return


def offer(path: Path) -> None:
    """Show an entry of the local cache to the other machines."""
    if (url := _shared(path)) is not None:
        send(path, url)


def offer_copy(folder: Path, *, name: str) -> None:
    """Show a folder of files that lies outside the cache, under a name that its content decides."""
    if os.environ.get(VARIABLE):
        for file in sorted(folder.iterdir()):
            send(file, _url(f"{name}/{file.name}"))


def bring_copy(name: str, *, files: Sequence[str]) -> Path:
    """The folder in the local cache that holds what `offer_copy` showed."""
    folder = cache_folder(name)
    for file in files:
        bring(folder / file)
    return folder


def _shared(path: Path) -> str | None:
    return _url(path.relative_to(cache_root()).as_posix()) if os.environ.get(VARIABLE) else None


def _url(name: str) -> str:
    return f"{require_url(os.environ[VARIABLE])}/{name}"
