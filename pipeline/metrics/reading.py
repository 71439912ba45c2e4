"""Predictions and references from the JSON files people have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.errors import InputError

PREDICTIONS = '{id: caption}, a COCO results list [{"image_id": id, "caption": caption}], or predictions/<run>.json'
REFERENCES = '{id: [captions]}, or MSR-VTT\'s annotations with "sentences"'


def read_json(path: Path, *, hint: str = "") -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", hint=hint) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise InputError(f"{path} is not JSON: {error}", hint=hint) from error


def read_run_predictions(path: Path, *, run: str) -> tuple[str, dict[str, str]]:
    """(split, captions by video) of the file that `framescribe caption` writes."""
    value = read_json(path, hint=f"`framescribe caption {run}`, or `dvc repro caption@{run}` with all before it")
    said = _captions(value) if isinstance(value, dict) else None
    if said is None or not isinstance(value.get("split"), str):
        raise InputError(f"{path} lacks a split, or a caption a video", hint=f"framescribe caption {run}")
    return value["split"], said


def read_predictions(path: Path) -> dict[str, str]:
    value = read_json(path)
    if isinstance(value, list):
        value = _coco_results(value, path)
    elif isinstance(value, dict) and isinstance(value.get("predictions"), dict):
        value = _captions(value)
    if not isinstance(value, dict) or not all(isinstance(caption, str) for caption in value.values()):
        raise InputError(f"{path} holds no predictions; allowed are {PREDICTIONS}")
    return value


def _captions(value: dict[str, Any]) -> dict[str, str] | None:
    """{video: caption} from {"predictions": {video: {"caption": caption, ...}}}, or nothing when it is not so."""
    said = value.get("predictions")
    if not isinstance(said, dict) or not all(isinstance(one, dict) for one in said.values()):
        return None
    captions = {video: one.get("caption") for video, one in said.items()}
    return captions if all(isinstance(caption, str) for caption in captions.values()) else None


def _coco_results(entries: list[Any], path: Path) -> dict[str, str]:
    results: dict[str, str] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not {"image_id", "caption"} <= entry.keys():
            raise InputError(f"{path} has the entry {entry!r}; each needs image_id and caption")
        video = str(entry["image_id"])
        if video in results:
            raise InputError(f"{path} has more than one caption for {video}; one is scored")
        results[video] = entry["caption"]
    return results


def read_references(path: Path) -> dict[str, list[str]]:
    value = read_json(path)
    if isinstance(value, dict) and isinstance(value.get("sentences"), list):
        value = _msrvtt_sentences(value["sentences"], path)
    if not isinstance(value, dict) or not all(_is_texts(captions) for captions in value.values()):
        raise InputError(f"{path} holds no references; allowed are {REFERENCES}")
    return value


def _msrvtt_sentences(sentences: list[Any], path: Path) -> dict[str, list[str]]:
    references: dict[str, list[str]] = {}
    for sentence in sentences:
        if not isinstance(sentence, dict) or not {"video_id", "caption"} <= sentence.keys():
            raise InputError(f"{path} has the sentence {sentence!r}; each needs video_id and caption")
        references.setdefault(str(sentence["video_id"]), []).append(sentence["caption"])
    return references


def _is_texts(captions: Any) -> bool:
    return isinstance(captions, list) and all(isinstance(caption, str) for caption in captions)
