"""Verifying a store, every byte of it, and repairing one: what is damaged is dropped and queued again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.cache import forget_shards
from pipeline.core import DamageError, file_sha256, record_sha256
from pipeline.store import (
    COLUMN_TYPES,
    MANIFEST,
    Failure,
    Output,
    Rows,
    StoredFeatures,
    TensorFile,
    expected_keys,
    failures_of,
    not_finite,
    outputs_of,
    read_manifest,
    shard_key,
    shard_name,
    shard_of,
    write_store,
)

DAMAGED = Failure("damaged", "dropped by `store repair`; extract makes it again")


@dataclass(frozen=True)
class Problem:
    """Something that is not as it was written; `videos` cannot be trusted because of it."""

    where: str
    what: str
    videos: tuple[str, ...] = ()


def verify(folder: Path) -> list[Problem]:
    """Every checksum, shape, number and row table; an empty list means that all is as it was written, and usable."""
    try:
        manifest = read_manifest(folder)
    except DamageError as error:
        return [Problem(MANIFEST, error.message)]
    members = _members(manifest)
    problems = list(_manifest_problems(manifest))
    for name, videos in members.items():
        problems += _shard_problems(folder / name, videos, manifest)
    problems += [
        Problem(path.name, "does not belong to this store")
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST and path.name not in manifest["shards"]
    ]
    return problems


def repair(folder: Path) -> list[str]:
    """Write the store again without its damaged videos, which become failures and so are made again; their ids.

    A store whose `store.json` is damaged is removed: nothing says any more what its shards are.
    """
    try:
        manifest = read_manifest(folder)
    except DamageError:
        shutil.rmtree(folder)
        return []
    problems = verify(folder)
    dropped = sorted({video_id for problem in problems for video_id in problem.videos})
    if problems:
        forget_shards(manifest["shards"][name]["sha256"] for name in _damaged(problems, manifest))
        _rewrite(folder, manifest, dropped)
    return dropped


def _damaged(problems: Sequence[Problem], manifest: Mapping[str, Any]) -> set[str]:
    """Their shards may be the very files that the cache keeps."""
    return {name for problem in problems for name in manifest["shards"] if problem.where.startswith(name)}


def _rewrite(folder: Path, manifest: dict[str, Any], dropped: list[str]) -> None:
    kept = {video_id: facts for video_id, facts in manifest["videos"].items() if video_id not in set(dropped)}
    files = {name: TensorFile(folder / name) for name in _members({**manifest, "videos": kept})}
    write_store(
        folder,
        {video_id: _stored(files, manifest, video_id) for video_id in kept},
        fingerprint=manifest["fingerprint"],
        failures=failures_of(manifest) | dict.fromkeys(dropped, DAMAGED),
        origins=kept,
        own_weights=manifest.get("own_weights"),
    )


def _stored(files: Mapping[str, TensorFile], manifest: Mapping[str, Any], video_id: str) -> StoredFeatures:
    shard = files[shard_name(shard_of(video_id, manifest["shard_count"]))]
    return StoredFeatures(shard, names=list(manifest["outputs"]), prefix=shard_key(video_id, ""))


def _members(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """The videos of each shard."""
    members: dict[str, list[str]] = {}
    for video_id in manifest["videos"]:
        members.setdefault(shard_name(shard_of(video_id, manifest["shard_count"])), []).append(video_id)
    return dict(sorted(members.items()))


def _manifest_problems(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """What the checksum of `store.json` cannot see: a writer that made a mistake."""
    if manifest["fingerprint_sha256"] != record_sha256(manifest["fingerprint"]):
        yield Problem(MANIFEST, "fingerprint_sha256 is not that of the fingerprint")
    if set(_members(manifest)) != set(manifest["shards"]):
        yield Problem(MANIFEST, "its shards are not those of its videos")
    both = manifest["videos"].keys() & manifest["failures"].keys()
    if both:
        yield Problem(MANIFEST, f"{len(both)} videos are both present and failed", tuple(sorted(both)))


def _shard_problems(path: Path, videos: list[str], manifest: Mapping[str, Any]) -> list[Problem]:
    try:
        shard = TensorFile(path)
    except DamageError as error:
        return [Problem(path.name, error.message, tuple(videos))]
    stated = manifest["shards"].get(path.name, {})
    if shard.checksum != stated.get("header"):
        return [Problem(path.name, "is whole, but not the shard that store.json describes", tuple(videos))]
    outputs = outputs_of(manifest)
    found = [problem for video_id in videos for problem in _video_problems(shard, video_id, manifest, outputs)]
    if not found and file_sha256(path) != stated["sha256"]:
        found.append(Problem(path.name, "its sha256 is not the one in store.json", tuple(videos)))
    expected = {key for video_id in videos for key in expected_keys(video_id, list(outputs))}
    if shard.keys() - expected:
        found.append(Problem(path.name, f"has tensors of no video: {sorted(shard.keys() - expected)[:3]}"))
    return found


def _video_problems(
    shard: TensorFile, video_id: str, manifest: Mapping[str, Any], outputs: Mapping[str, Output]
) -> list[Problem]:
    where = f"{shard.path.name}: {video_id}"
    missing = [key for key in expected_keys(video_id, list(outputs)) if key not in shard]
    if missing:
        return [Problem(where, f"lacks {missing[0]}", (video_id,))]
    video = StoredFeatures(shard, names=list(outputs), prefix=shard_key(video_id, ""))
    try:
        complaints = list(_complaints(video, manifest["videos"][video_id]["rows"], outputs))
    except DamageError as error:
        complaints = [error.message]
    return [Problem(where, complaint, (video_id,)) for complaint in complaints]


def _complaints(video: StoredFeatures, rows: int, outputs: Mapping[str, Output]) -> Iterator[str]:
    for name, array in video.items():
        expected = outputs[name]
        if (array.shape, array.dtype.name) != ((rows, *expected.shape), expected.dtype):
            yield f"{name} is {array.shape} {array.dtype}, store.json says {(rows, *expected.shape)} {expected.dtype}"
    if found := not_finite(video):
        yield found
    for column, dtype in COLUMN_TYPES.items():
        array = getattr(video.rows, column)  # as it lies in the file; `columns` would give it the right type
        if array.shape != (rows,) or array.dtype.name != dtype:
            yield f"rows.{column} is {array.shape} {array.dtype}, not ({rows},) {dtype}"
            return
    yield from _row_complaints(video.rows)


def _row_complaints(rows: Rows) -> Iterator[str]:
    known = ~np.isnan(rows.start) & ~np.isnan(rows.end)
    if (rows.start[known] > rows.end[known]).any() or (np.diff(rows.start[known]) < 0).any():
        yield "the row table goes back in time"
    if (rows.first_frame > rows.last_frame).any() or (rows.first_frame < -1).any():
        yield "the row table has a last frame before the first"
    span = rows.last_frame - rows.first_frame + 1
    if ((rows.valid < 0) | ((rows.first_frame >= 0) & (rows.valid > span))).any():
        yield "the row table has an impossible number of valid frames"
