"""`store.json`: what a store holds, and the hashes that everything else in it is checked against."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.core import (
    SEAL,
    DamageError,
    InputError,
    printable,
    publishing,
    record_sha256,
    seal_is_whole,
    write_sealed,
)
from pipeline.store.features import ROW_COLUMNS
from pipeline.store.tensor_file import Written

SCHEMA = 2
MANIFEST = "store.json"
FEATURES = Path("features")  # where a store lies that is called by its name
FEWEST_SHARDS, NEXT_SHARDS = 16, 256  # the second so that a shard of 10,000 videos is less than one percent
VIDEOS_A_SHARD = 512  # more, and there are more shards
_START = b'{\n "checksum": "'  # keys are sorted, so every store.json begins so


@dataclass(frozen=True)
class Failure:
    """Why a video has no features; `reason` is one of `pipeline.decoding.REASONS`, or `damaged`."""

    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


@dataclass(frozen=True)
class Output:
    """One row of a named tensor."""

    shape: tuple[int, ...]
    dtype: str


def shard_count(videos: int) -> int:
    """16, 256, 1024, ...: a function of the number of videos alone, so that a grown store equals one made at once."""
    count = FEWEST_SHARDS
    while videos > count * VIDEOS_A_SHARD:
        count = max(NEXT_SHARDS, count * 4)
    return count


def shard_of(video_id: str, shards: int = FEWEST_SHARDS) -> int:
    return int.from_bytes(hashlib.sha256(video_id.encode("utf-8", "surrogateescape")).digest()[:8]) % shards


def shard_name(number: int) -> str:
    return f"shard-{number:04d}.safetensors"


def shard_key(video_id: str, name: str) -> str:
    """`<id>/<name>`, the id percent-encoded: any file name has a key, and the first slash ends the id."""
    return f"{quote(video_id, safe='', errors='surrogateescape')}/{name}"


def make_manifest(
    *,
    fingerprint: Mapping[str, Any],
    outputs: Mapping[str, Output],
    shards: Mapping[str, Written],
    shard_count: int,
    videos: Mapping[str, Mapping[str, Any]],
    rows: int,
    failures: Mapping[str, Failure],
    own_weights: Mapping[str, str],
) -> dict[str, Any]:
    # only where there are some: a store of published weights has the bytes that it always had
    yours = {"own_weights": dict(own_weights)} if own_weights else {}
    return {
        **yours,
        "schema": SCHEMA,
        "fingerprint": dict(fingerprint),
        "fingerprint_sha256": record_sha256(dict(fingerprint)),
        "row": dict(ROW_COLUMNS),
        "outputs": {name: {"shape": list(out.shape), "dtype": out.dtype} for name, out in outputs.items()},
        "shard_count": shard_count,
        "shards": {name: asdict(written) for name, written in shards.items()},
        "videos": videos,
        "failures": {video_id: asdict(failure) for video_id, failure in failures.items()},
        "sizes": {
            "videos": len(videos),
            "failures": len(failures),
            "rows": rows,
            "bytes": sum(written.bytes for written in shards.values()),
        },
    }


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    with publishing(folder / MANIFEST) as temporary, temporary.open("wb") as stream:
        write_sealed(stream, (piece.encode() for piece in _pieces(manifest)), at=len(_START))


def _pieces(manifest: Mapping[str, Any]) -> Iterator[str]:
    """As JSON of all of it would be, sorted and indented, with the facts of one video in memory at a time."""
    encoder, videos = json.JSONEncoder(indent=1, sort_keys=True), manifest["videos"]
    text = encoder.encode({"checksum": SEAL.decode(), **manifest, "videos": {}})
    yield text.removesuffix("{}\n}")  # no other key comes after the videos
    before = "{\n  "
    for video_id in sorted(videos):
        yield f"{before}{encoder.encode(video_id)}: " + encoder.encode(videos[video_id]).replace("\n", "\n  ")
        before = ",\n  "
    yield "\n }\n}\n" if videos else "{}\n}\n"


def read_manifest(folder: Path) -> dict[str, Any]:
    """The content of `store.json`, once its checksum has shown that no bit of it changed."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"there is no store at {folder}", hint=f"dvc repro extract@{folder.name}")
    data = path.read_bytes()
    if not seal_is_whole(data, at=len(_START)):
        if not data.startswith(_START):
            _require_known_schema(_parsed(data), path)
        raise DamageError(f"{path} is damaged: its checksum does not fit", hint=f"framescribe store repair {folder}")
    manifest = json.loads(data)
    _require_known_schema(manifest, path)
    return manifest


def failures_of(manifest: Mapping[str, Any]) -> dict[str, Failure]:
    return {video_id: Failure(**facts) for video_id, facts in manifest["failures"].items()}


def outputs_of(manifest: Mapping[str, Any]) -> dict[str, Output]:
    return {name: Output(tuple(facts["shape"]), facts["dtype"]) for name, facts in manifest["outputs"].items()}


def whose_weights(manifest: Mapping[str, Any]) -> str:
    """In words, when the store was made with weights of the user's own: that, and which file."""
    own = manifest.get("own_weights", {})
    return "; ".join(f"{printable(name)}: yours, sha256 {sha256}" for name, sha256 in own.items())


def expected_keys(video_id: str, outputs: Sequence[str]) -> list[str]:
    return [shard_key(video_id, name) for name in (*outputs, *(f"rows.{column}" for column in ROW_COLUMNS))]


def _parsed(data: bytes) -> Mapping[str, Any]:
    """An older store.json, which has no checksum; of anything else, nothing."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {"schema": SCHEMA}
    return value if isinstance(value, dict) and "schema" in value else {"schema": SCHEMA}


def _require_known_schema(manifest: Mapping[str, Any], path: Path) -> None:
    if manifest["schema"] != SCHEMA:
        raise InputError(
            f"{path} has schema {manifest['schema']!r}; this version reads schema {SCHEMA}",
            hint=f"framescribe extract {path.parent.name}",
        )
