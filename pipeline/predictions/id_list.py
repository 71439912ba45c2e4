"""A list of video ids: a line each, a JSON list, or a data set's own list of records with `videoID`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.core import InputError, duplicates, named, read_json, read_text

KEYS = ("videoID", "video_id", "id")


def read_ids(path: Path) -> list[str]:
    if path.suffix == ".json":
        found = read_json(path)
        ids = [_id(entry, path) for entry in found] if isinstance(found, list) else []
    else:
        ids = [line.strip() for line in read_text(path).split("\n") if line.strip()]
    if not ids:
        raise InputError(f"{path} lists no video", hint="one id per line, or a JSON list of ids")
    if twice := duplicates(ids):
        raise InputError(f"{path} lists {named(twice)} more than once")
    return ids


def _id(entry: Any, path: Path) -> str:
    if isinstance(entry, dict):
        entry = next((entry[key] for key in KEYS if key in entry), None)
    if not isinstance(entry, str):
        raise InputError(f"{path}: each entry must be an id, or have one of {', '.join(KEYS)}")
    return entry
