"""Predictions from the files people have: COCO results, plain JSON, JSONL, and what `framescribe caption` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.ids import duplicates, named

PREDICTIONS = (
    '{id: caption}, a COCO results list [{"image_id": id, "caption": caption}], the same as JSON lines, '
    "or predictions/<run>.json"
)
IDS = ("video_id", "image_id", "videoID", "id")  # the first that an entry has names its video
TEXTS = ("caption", "captions", "enCap", "sentence")


def read_json(path: Path, *, hint: str = "") -> Any:
    """A JSON value, in which no object may say a key twice: one of the two would be lost without a word."""
    return _parse(read_text(path, hint=hint), path, hint=hint)


def read_text(path: Path, *, hint: str = "") -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", hint=hint) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text, so it is not JSON: {error}", hint=hint) from error


def read_json_lines(path: Path) -> list[Any]:
    lines = enumerate(read_text(path).split("\n"), start=1)
    return [_parse(line, f"{path}, line {number}") for number, line in lines if line.strip()]


def _parse(text: str, where: Path | str, *, hint: str = "") -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if twice := duplicates(key for key, _ in pairs):
            raise InputError(f"{where} says {named(twice)} more than once in one object; which one counts?")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}", hint=hint) from error


def read_run_predictions(path: Path, *, run: str) -> tuple[str, dict[str, str]]:
    """(split, captions by video) of the file that `framescribe caption` writes."""
    value = read_json(path, hint=f"`framescribe caption {run}`, or `dvc repro caption@{run}` with all before it")
    entries = value.get("predictions") if isinstance(value, dict) else None
    whole = isinstance(entries, dict) and all(isinstance(entry, dict) for entry in entries.values())
    said = _captions(entries) if whole else None
    if said is None or not isinstance(value.get("split"), str):
        raise InputError(f"{path} lacks a split, or a caption a video", hint=f"framescribe caption {run}")
    return value["split"], said


def read_predictions(path: Path) -> tuple[str | None, dict[str, str]]:
    """(split, when the file states one; captions by id)."""
    value = read_json_lines(path) if path.suffix == ".jsonl" else read_json(path)
    split = None
    if isinstance(value, dict) and isinstance(value.get("predictions"), dict | list):
        split, value = value.get("split"), value["predictions"]
    said = _captions(_one_each(value, path) if isinstance(value, list) else value)
    if said is None:
        raise InputError(f"{path} holds no predictions; allowed are {PREDICTIONS}")
    return split if isinstance(split, str) else None, said


def _captions(said: Any) -> dict[str, str] | None:
    """{video: caption} from {video: caption, or [caption], or {"caption": caption}}; nothing when it is not so."""
    if not isinstance(said, dict):
        return None
    captions = {video: _caption(value) for video, value in said.items()}
    return {v: c for v, c in captions.items() if c is not None} if None not in captions.values() else None


def _caption(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("caption")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) else None


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
