"""Predictions from the files people have: COCO results, JSON, JSON lines, and what `framescribe caption` writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core import InputError, duplicates, named, read_json, read_json_lines
from pipeline.predictions import captions_of

PREDICTIONS = (
    '{id: caption}, a COCO results list [{"image_id": id, "caption": caption}], the same as JSON lines, '
    "or predictions/<run>.json"
)
IDS = ("video_id", "image_id", "videoID", "id")  # the first that an entry has names its video
TEXTS = ("caption", "captions", "enCap", "sentence")


def read_predictions(path: Path) -> tuple[str | None, dict[str, str]]:
    """(split, when the file states one; captions by id)."""
    value = read_json_lines(path) if path.suffix == ".jsonl" else read_json(path)
    split = None
    if isinstance(value, dict) and isinstance(value.get("predictions"), dict | list):
        split, value = value.get("split"), value["predictions"]
    captions = predictions_of(_one_each(value, path) if isinstance(value, list) else value, source=str(path))
    return split if isinstance(split, str) else None, captions


def predictions_of(value: Any, *, source: str = "what was given") -> dict[str, str]:
    captions = captions_of(value)
    if captions is None:
        raise InputError(f"{source} holds no predictions; allowed are {PREDICTIONS}")
    return captions


def _one_each(entries: list[Any], path: Path) -> dict[str, Any]:
    pairs = list(id_and_text(entries, path))
    if twice := duplicates(video for video, _ in pairs):
        raise InputError(f"{path} has more than one caption for {named(twice)}; one is scored")
    return dict(pairs)


def id_and_text(entries: Iterable[Any], path: Path) -> Iterator[tuple[str, Any]]:
    """(id, caption or captions) of entries that name them in any of the usual ways."""
    for entry in entries:
        keys = entry.keys() if isinstance(entry, dict) else ()
        id_, text = next((key for key in IDS if key in keys), ""), next((key for key in TEXTS if key in keys), "")
        if not id_ or not text:
            wanted = f"one of {', '.join(IDS)} and one of {', '.join(TEXTS)}"
            raise InputError(f"{path} has the entry {str(entry)[:200]}; each needs {wanted}")
        yield str(entry[id_]), entry[text]
