"""Small facts that are slow to find out, kept by content: a note is known by the hash of all that decides it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.core import FramescribeError, cache_folder, read_sealed_json, record_sha256, write_sealed_json


def noted(record: Any, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The facts that `record` decides, as JSON has them: from their note where it is whole, else made and kept."""
    path = cache_folder("notes") / f"{record_sha256(record)}.json"
    if (known := _read(path)) is not None:
        return known
    write_sealed_json(path, make())
    return read_sealed_json(path, hint="")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return read_sealed_json(path, hint="")
    except FramescribeError:  # not there, or damaged
        return None
