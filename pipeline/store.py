"""The sharded feature store: safetensors shards plus `store.json`, read by video id through mmap.

A video's shard is chosen by the hash of its id and keys are sorted inside a shard, so the bytes of a store
depend on its content only: not on workers, order or how often a run was resumed.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from pipeline.errors import InputError
from pipeline.hashing import record_sha256
from pipeline.publish import fresh_folder, write_bytes, write_json

SCHEMA = 1
SHARDS = 16
ROW_COLUMNS = ("first_frame", "last_frame", "start", "end", "valid")


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What each feature row is: frames [first, last], seconds [start, end), and how many real frames it has."""

    first_frame: np.ndarray  # (R,) int64
    last_frame: np.ndarray  # (R,) int64
    start: np.ndarray  # (R,) float64
    end: np.ndarray  # (R,) float64
    valid: np.ndarray  # (R,) int64

    def __len__(self) -> int:
        return len(self.first_frame)


@dataclass(frozen=True, kw_only=True)
class VideoFeatures(Mapping[str, np.ndarray]):
    """The named tensors of one video, all with one row per entry of `rows`."""

    tensors: dict[str, np.ndarray]  # name -> (R, ...)
    rows: Rows

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.tensors:
            raise InputError(f"there is no feature '{name}' in this store; it has: {', '.join(self.tensors)}")
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def shard_of(video_id: str, shards: int = SHARDS) -> int:
    return int.from_bytes(hashlib.sha256(video_id.encode("utf-8", "surrogateescape")).digest()[:8]) % shards


def write_store(
    folder: Path,
    features: Mapping[str, VideoFeatures],
    *,
    fingerprint: Mapping[str, Any],
    failures: Mapping[str, str],
) -> None:
    """Publish a whole store at once; a reader never sees half of it."""
    members: dict[int, list[str]] = defaultdict(list)
    for video_id in sorted(features):
        members[shard_of(video_id)].append(video_id)
    with fresh_folder(folder) as temporary:
        shards = {}
        for number, ids in sorted(members.items()):
            name = f"shard-{number:04d}.safetensors"
            data = save(_shard_tensors(features, ids))
            write_bytes(temporary / name, data)
            shards[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        write_json(temporary / "store.json", _manifest(features, shards, fingerprint, failures))


def _shard_tensors(features: Mapping[str, VideoFeatures], ids: list[str]) -> dict[str, np.ndarray]:
    tensors: dict[str, np.ndarray] = {}
    for video_id in ids:
        video = features[video_id]
        tensors |= {f"{video_id}/{name}": np.ascontiguousarray(array) for name, array in video.items()}
        tensors |= {f"{video_id}/rows.{column}": getattr(video.rows, column) for column in ROW_COLUMNS}
    return dict(sorted(tensors.items()))


def _manifest(
    features: Mapping[str, VideoFeatures],
    shards: dict[str, Any],
    fingerprint: Mapping[str, Any],
    failures: Mapping[str, str],
) -> dict[str, Any]:
    outputs = {
        name: {"shape": list(array.shape[1:]), "dtype": str(array.dtype)}
        for video in list(features.values())[:1]
        for name, array in video.items()
    }
    return {
        "schema": SCHEMA,
        "fingerprint": dict(fingerprint),
        "fingerprint_sha256": record_sha256(dict(fingerprint)),
        "outputs": outputs,
        "shard_count": SHARDS,
        "shards": shards,
        "videos": {video_id: len(features[video_id].rows) for video_id in sorted(features)},
        "failures": dict(sorted(failures.items())),
    }


@dataclass(frozen=True)
class Store(Mapping[str, VideoFeatures]):
    """Random access by video id: `store[video_id]["pool"]` is a numpy array, `.rows` says what its rows are."""

    folder: Path
    manifest: dict[str, Any] = field(repr=False)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.manifest["fingerprint"]

    @property
    def untrained(self) -> bool:
        return self.fingerprint.get("weights") == "random"

    def __getitem__(self, video_id: str) -> VideoFeatures:
        if video_id not in self.manifest["videos"]:
            reason = self.manifest["failures"].get(video_id)
            why = f": it failed ({reason})" if reason else ""
            raise InputError(f"{self.folder} has no video '{video_id}'{why}")
        shard = self._shards[shard_of(video_id, self.manifest["shard_count"])]
        tensors = {name: shard.get_tensor(f"{video_id}/{name}") for name in self.manifest["outputs"]}
        rows = {column: shard.get_tensor(f"{video_id}/rows.{column}") for column in ROW_COLUMNS}
        return VideoFeatures(tensors=tensors, rows=Rows(**rows))

    def __iter__(self) -> Iterator[str]:
        return iter(self.manifest["videos"])

    def __len__(self) -> int:
        return len(self.manifest["videos"])

    @cached_property
    def _shards(self) -> dict[int, Any]:
        numbers = {int(name.removeprefix("shard-")[:4]): name for name in self.manifest["shards"]}
        return {number: safe_open(self.folder / name, framework="numpy") for number, name in numbers.items()}


def open_store(folder: Path | str) -> Store:
    folder = Path(folder)
    path = folder / "store.json"
    if not path.is_file():
        raise InputError(f"there is no store at {folder}", hint=f"dvc repro extract@{folder.name}")
    manifest = json.loads(path.read_text())
    if manifest.get("schema") != SCHEMA:
        raise InputError(f"{path} has schema {manifest.get('schema')!r}; this version reads schema {SCHEMA}")
    return Store(folder, manifest)
