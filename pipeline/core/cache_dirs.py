"""Where the cache lies: one folder for all that may be deleted at any time, with one inside for each kind."""

from __future__ import annotations

import os
from pathlib import Path

TEMPORARY = (".dvc", "tmp", "exps")  # where `dvc exp run --temp` and `--queue` work, in a folder of the project


def cache_root() -> Path:
    """Experiments in temporary folders share the project's: what it has computed is not computed again."""
    return Path(os.environ.get("FRAMESCRIBE_CACHE", _project() / ".cache/framescribe"))


def _project() -> Path:
    here = Path.cwd().parts
    places = [place for place in range(len(here)) if here[place : place + len(TEMPORARY)] == TEMPORARY]
    return Path(*here[: places[-1]]) if places else Path()


def cache_folder(kind: str) -> Path:
    return cache_root() / kind
