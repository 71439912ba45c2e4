"""predictions/RUN.origin.json: how the captions beside it were made, by which runs, and of which bytes this is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import file_sha256, read_sealed_json, write_sealed_json

FUSION = {"epochs": 30, "seed": 0}  # of the embedding, unless told otherwise


def origin_path(predictions: Path) -> Path:
    return predictions.with_suffix(".origin.json")


def write_caption_origin(predictions: Path, *, runs: Sequence[Path], settings: Mapping[str, Any]) -> None:
    """Of one run, or of an ensemble: each by the checksum of its record."""
    members = {run.name: file_sha256(run / "run.json") for run in runs}
    _write(predictions, {"made_by": "caption", "settings": dict(settings), "members": members})


def write_fusion_origin(predictions: Path, *, candidates: Mapping[str, Path], settings: Mapping[str, Any]) -> None:
    """With the origin of each file that captions were chosen from; empty where nothing is known of one."""
    origins = {name: read_origin(path) for name, path in candidates.items()}
    _write(predictions, {"made_by": "fuse", "settings": dict(settings), "candidates": origins})


def _write(predictions: Path, origin: Mapping[str, Any]) -> None:
    write_sealed_json(origin_path(predictions), {**origin, "predictions_sha256": file_sha256(predictions)})


def read_origin(predictions: Path) -> dict[str, Any]:
    """Nothing for a file of before there were origins, or one that was replaced since."""
    path = origin_path(predictions)
    if not (path.is_file() and predictions.is_file()):
        return {}
    origin = read_sealed_json(path, hint=f"framescribe caption {predictions.stem}")
    return origin if origin.get("predictions_sha256") == file_sha256(predictions) else {}
