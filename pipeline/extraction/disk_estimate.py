"""What a store will need on disk, computed from the index and the extractor before anything is decoded."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.cache import entry_path
from pipeline.core import cache_folder
from pipeline.extraction.planned_rows import row_count
from pipeline.extraction.task import Task, make_task
from pipeline.extraction.weights_content import sha256_now
from pipeline.index import VideoIndex
from pipeline.params import Extract
from pipeline.store import COLUMN_TYPES, Spec, header_of, shard_count, shard_key, shard_of
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
    rows = [index.rows[video_id] for video_id in (index.rows if among is None else among)]
    counts = {row.id: row_count(task, row=row, times=index.times(row.id)) for row in rows}
    videos = {video_id: _parts(count, task.facts.outputs, task.params.dtype) for video_id, count in counts.items()}
    absent = [row.id for row in rows if not entry_path(task.key_of(row)).exists()]
    return Estimate(
        task.name,
        videos=len(counts),
        rows=sum(counts.values()),
        shards=shard_bytes(videos, shard_count(len(index.rows))),
        cached=len(counts) - len(absent),
        to_cache=sum(_on_disk(videos[video_id]) for video_id in absent),
        out=out,
    )


def planned_task(name: str, params: Extract, *, device: str) -> Task:
    """Sizes are known without the weights; nothing counts as cached then."""
    if params.weights in WITHOUT_FILE or status(params.weights) == "present":
        return make_task(name, params, weights_sha256=sha256_now(params.weights), device=device)
    untrained = params.model_copy(update={"weights": RANDOM})
    return make_task(name, untrained, weights_sha256=RANDOM, device=device)


def shard_bytes(videos: Mapping[str, Mapping[str, Spec]], count: int) -> int:
    """Of all shards together, to the byte: a header's size depends on names and shapes only."""
    shards: dict[int, dict[str, Spec]] = defaultdict(dict)
    for video_id, parts in videos.items():
        number = shard_of(video_id, count)
        shards[number] |= {shard_key(video_id, name): spec for name, spec in parts.items()}
    return sum(len(header_of(specs)) + _payload(specs) for specs in shards.values())


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
