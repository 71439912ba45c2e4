"""What a store will need on disk, computed from the index and the extractor before anything is decoded."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.cache import entry_path
from pipeline.core import cache_folder, file_sha256, record_sha256
from pipeline.extraction.build_extractor import Task, extractor_of, make_task
from pipeline.extraction.extract_video import row_count
from pipeline.index import VideoIndex
from pipeline.params import Extract
from pipeline.store import COLUMN_TYPES, Spec, header_of, shard_count, shard_key, shard_of
from pipeline.weights import RANDOM, WITHOUT_FILE, converted_path, status

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


def estimate(task: Task, index: VideoIndex, *, out: Path) -> Estimate:
    counts = {video_id: _rows(task, index, video_id) for video_id in index.rows}
    outputs = extractor_of(task.params, device="cpu").outputs
    videos = {video_id: _parts(rows, outputs, task.params.dtype) for video_id, rows in counts.items()}
    absent = [row.id for row in index.rows.values() if not entry_path(record_sha256(task.record_of(row))).exists()]
    return Estimate(
        task.name,
        videos=len(counts),
        rows=sum(counts.values()),
        shards=shard_bytes(videos),
        cached=len(counts) - len(absent),
        to_cache=sum(_on_disk(videos[video_id]) for video_id in absent),
        out=out,
    )


def planned_task(name: str, params: Extract, *, device: str) -> Task:
    """Sizes are known without the weights; nothing counts as cached then."""
    if params.weights in WITHOUT_FILE:
        return make_task(name, params, weights_sha256=params.weights, device=device)
    if status(params.weights) == "present":
        return make_task(name, params, weights_sha256=file_sha256(converted_path(params.weights)), device=device)
    untrained = params.model_copy(update={"weights": RANDOM})
    return make_task(name, untrained, weights_sha256=RANDOM, device=device)


def shard_bytes(videos: Mapping[str, Mapping[str, Spec]]) -> int:
    """Of all shards together, to the byte: a header's size depends on names and shapes only."""
    shards: dict[int, dict[str, Spec]] = defaultdict(dict)
    for video_id, parts in videos.items():
        number = shard_of(video_id, shard_count(len(videos)))
        shards[number] |= {shard_key(video_id, name): spec for name, spec in parts.items()}
    return sum(len(header_of(specs)) + _payload(specs) for specs in shards.values())


def shortages(estimates: Iterable[Estimate]) -> Iterator[str]:
    """A sentence for each file system that has less room than the runs together need."""
    wanted: dict[int, int] = defaultdict(int)
    where: dict[int, Path] = {}
    for each in estimates:
        for folder, size in ((cache_folder("features"), each.to_cache), (each.out.parent, each.shards)):
            place = _existing(folder)
            wanted[place.stat().st_dev] += size
            where.setdefault(place.stat().st_dev, place)
    for device, size in wanted.items():
        free = shutil.disk_usage(where[device]).free
        if free < size:
            yield f"the disk of {where[device].resolve()} has {free / 1e9:.2f} GB free; {size / 1e9:.2f} GB are needed"


def _rows(task: Task, index: VideoIndex, video_id: str) -> int:
    return row_count(task.params, row=index.rows[video_id], times=index.times(video_id))


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
