"""What a store will need on disk, computed from the index and the extractor before anything is decoded."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.cache import entry_path
from pipeline.core import cache_folder
from pipeline.extraction.planned_rows import row_count
from pipeline.extraction.task import Task, make_task
from pipeline.extraction.weights_content import sha256_now
from pipeline.index import VideoIndex
from pipeline.params import Extract
from pipeline.store import COLUMN_TYPES, Spec, header_of, members_of, shard_count, shard_key
from pipeline.weights import RANDOM, WITHOUT_FILE, status

BLOCK = 4096  # a file's size on disk is rounded up to this


@dataclass(frozen=True)
class Estimate:
    """Bytes of the shards (exact), and what the run will add to the two folders it writes."""

    name: str
    videos: int
    rows: int
    shards: int  # bytes
    cached: int  # videos whose features are in the cache already
    to_cache: int  # bytes that the cache will grow by
    out: Path


def estimate(task: Task, index: VideoIndex, *, out: Path, among: Collection[str] | None = None) -> Estimate:
    """Of all videos, or of the shards of those named: the others are there already."""
    members = members_of(index.rows if among is None else among, shard_count(len(index.rows)))
    found = [_shard_estimate(task, index, ids) for ids in members.values()]
    videos, rows, shards, cached, to_cache = (sum(column) for column in zip((0,) * 5, *found, strict=True))
    return Estimate(task.name, videos, rows, shards, cached, to_cache, out)


def _shard_estimate(task: Task, index: VideoIndex, ids: Sequence[str]) -> tuple[int, int, int, int, int]:
    """Of one shard: its videos, rows and bytes, how many videos are cached, and the bytes of the others' entries."""
    rows = [index.rows[video_id] for video_id in ids]
    counts = {row.id: row_count(task, row=row, times=index.times(row.id)) for row in rows}
    videos = {video_id: _parts(count, task.facts.outputs, task.params.dtype) for video_id, count in counts.items()}
    absent = [row.id for row in rows if not entry_path(task.key_of(row)).exists()]
    to_cache = sum(_on_disk(videos[video_id]) for video_id in absent)
    return len(rows), sum(counts.values()), shard_bytes(videos), len(rows) - len(absent), to_cache


def planned_task(name: str, params: Extract, *, device: str) -> Task:
    """Sizes are known without the weights; nothing counts as cached then."""
    if params.weights in WITHOUT_FILE or status(params.weights) == "present":
        return make_task(name, params, weights_sha256=sha256_now(params.weights), device=device)
    untrained = params.model_copy(update={"weights": RANDOM})
    return make_task(name, untrained, weights_sha256=RANDOM, device=device)


def shard_bytes(videos: Mapping[str, Mapping[str, Spec]]) -> int:
    """Of one shard, to the byte: a header's size depends on names and shapes only."""
    specs = {shard_key(video_id, name): spec for video_id, parts in videos.items() for name, spec in parts.items()}
    return len(header_of(specs)) + _payload(specs)


def shortages(estimates: Iterable[Estimate]) -> Iterator[str]:
    """A sentence for each file system that has less room than the runs together need."""
    wanted: dict[int, int] = defaultdict(int)
    where: dict[int, Path] = {}
    for each in estimates:
        for place, size in _takes(each).items():
            wanted[place.stat().st_dev] += size
            where.setdefault(place.stat().st_dev, place)
    for device, size in wanted.items():
        free = shutil.disk_usage(where[device]).free
        if free < size:
            yield f"the disk of {where[device].resolve()} has {free / 1e9:.2f} GB free; {size / 1e9:.2f} GB are needed"


def _takes(each: Estimate) -> dict[Path, int]:
    """Where bytes go; shards are kept in the cache as well, which takes room where it is another disk."""
    cache, out = _existing(cache_folder("features")), _existing(each.out.parent)
    if cache.stat().st_dev == out.stat().st_dev:
        return {cache: each.to_cache + each.shards}
    return {cache: each.to_cache + each.shards, out: each.shards}


def _parts(rows: int, outputs: Mapping[str, tuple[int, ...]], dtype: str) -> dict[str, Spec]:
    tensors = {name: Spec(dtype, (rows, *shape)) for name, shape in outputs.items()}
    return tensors | {f"rows.{column}": Spec(type_, (rows,)) for column, type_ in COLUMN_TYPES.items()}


def _payload(specs: Mapping[str, Spec]) -> int:
    return sum(spec.nbytes for spec in specs.values())


def _on_disk(parts: Mapping[str, Spec]) -> int:
    """Of one cache entry, whose header also holds the record it was made from (2 kB, nearly)."""
    size = len(header_of(parts)) + 2000 + _payload(parts)
    return -(-size // BLOCK) * BLOCK


def _existing(folder: Path) -> Path:
    return folder if folder.exists() else _existing(folder.absolute().parent)
