"""predictions/RUN.json: one caption per video, as `framescribe caption` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.core import InputError, read_sealed_json
from pipeline.predictions.names import caption_command, parse_name


def read_prediction_file(path: Path, *, run: str) -> dict[str, Any]:
    """All that `framescribe caption` wrote."""
    hint = caption_command(run)
    if parse_name(run).of_stage:
        hint = f"`{hint}`, or `dvc repro --force caption@{run}` with all before it"
    return read_sealed_json(path, hint=hint)


def read_run_predictions(path: Path, *, run: str) -> tuple[str, dict[str, str]]:
    """(split, captions by video) of the file that `framescribe caption` writes."""
    value = read_prediction_file(path, run=run)
    entries = value.get("predictions")
    whole = isinstance(entries, dict) and all(isinstance(entry, dict) for entry in entries.values())
    captions = captions_of(entries) if whole else None
    if captions is None or not isinstance(value.get("split"), str):
        raise InputError(f"{path} lacks a split, or a caption per video", hint=caption_command(run))
    return value["split"], captions


def captions_of(entries: Any) -> dict[str, str] | None:
    """{video: caption} from {video: caption, or [caption], or {"caption": caption}}; nothing when it is not so."""
    if not isinstance(entries, dict):
        return None
    captions = {video: _caption(value) for video, value in entries.items()}
    return {v: c for v, c in captions.items() if c is not None} if None not in captions.values() else None


def _caption(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("caption")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) else None
