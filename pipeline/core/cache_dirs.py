"""Where the cache lies: one folder for all that may be deleted at any time, with one inside for each kind."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    return Path(os.environ.get("FRAMESCRIBE_CACHE", ".cache/framescribe"))


def cache_folder(kind: str) -> Path:
    return cache_root() / kind
