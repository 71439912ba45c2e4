"""The cache beside DVC: content-addressed, shared by runs and processes, safe to delete at any time.

DVC removes a stage's outputs before it runs; what was already computed comes back from here.
"""

from __future__ import annotations

import os
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from pipeline.publish import write_bytes
from pipeline.store import ROW_COLUMNS, Rows, VideoFeatures


def cache_folder(kind: str) -> Path:
    return Path(os.environ.get("FRAMESCRIBE_CACHE", ".cache/framescribe")) / kind


def _path(key: str) -> Path:
    return cache_folder("features") / key[:2] / f"{key}.safetensors"


def put_features(key: str, video: VideoFeatures) -> None:
    rows = {f"rows.{column}": getattr(video.rows, column) for column in ROW_COLUMNS}
    write_bytes(_path(key), save(dict(video) | rows))


def get_features(key: str) -> VideoFeatures | None:
    """The cached features, or None when they are absent or damaged (then they are simply computed again)."""
    try:
        with safe_open(_path(key), framework="numpy") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - not a dictionary
    except (FileNotFoundError, SafetensorError):
        return None
    rows = Rows(**{column: tensors.pop(f"rows.{column}") for column in ROW_COLUMNS})
    return VideoFeatures(tensors=tensors, rows=rows)
