"""A project of so many videos, made: files, what decoding would find in them, captions, and features in the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import Console, cache_root
from pipeline.decoding import decode
from pipeline.extraction.task import make_task
from pipeline.index import VideoRow, write_index
from pipeline.params import Decode, load_params
from pipeline.store import Rows, VideoFeatures
from tests.clips import write_clip

ROWS, SIZE = 12, 1280  # MobileNet's vector of twelve frames: 61 kB a video, 1 kB of it what the rows are
FRAMES = 250  # of a video, as the index has it: ten seconds
CAPTIONS = 20  # of a video, as MSR-VTT has
EXTRACTOR: dict[str, Any] = {
    "family": "frames",
    "network": "mobilenet_v2",
    "weights": "random",
    "sampling": {"count": ROWS},
    "outputs": ["pool"],
}


def make_videos(count: int) -> None:
    """Files that are all different; the facts of the first are those of each."""
    videos = Path("videos")
    videos.mkdir()
    write_clip(videos / "video0.mp4", frames=FRAMES, width=32, height=32)
    clip, quiet = (videos / "video0.mp4").read_bytes(), Console(quiet=True)
    decode.decode_videos(videos=videos, out=Path("first"), params=Decode(), console=quiet)
    (known,) = cache_root().glob("decode/??/*")
    facts, first = known.read_bytes(), hashlib.sha256(clip).hexdigest()
    for number in range(1, count):
        data = clip + (16).to_bytes(4) + b"free" + number.to_bytes(8)
        (videos / f"video{number}.mp4").write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        entry = cache_root() / "decode" / sha256[:2] / known.name.replace(first, sha256)
        entry.parent.mkdir(exist_ok=True)
        entry.write_bytes(facts)


def make_features(rows: Iterable[VideoRow], times: Callable[[str], np.ndarray], *, size: int) -> None:
    """Entries of the cache, as if they had been computed."""
    from pipeline.cache import entry_path, put_features
    from pipeline.extraction.planned_rows import frame_rows, row_table

    task = make_task("x", load_params().extract["x"], weights_sha256="random", device="cpu")
    numbers = np.random.default_rng(0)
    for row in (row for row in rows if not entry_path(task.key_of(row)).exists()):
        table: Rows = row_table(frame_rows(task, row=row, times=times(row.id)))
        tensors = {"pool": numbers.random((len(table), size), np.float32)}
        put_features(task.key_of(row), VideoFeatures(tensors=tensors, rows=table), record=task.record_of(row))


def make_annotations(count: int) -> None:
    """In MSR-VTT's format, with splits of the proportions of its own."""
    splits = ["train"] * 13 + ["validate"] + ["test"] * 6
    videos = [{"video_id": f"video{n}", "split": splits[n % 20], "category": n % 20} for n in range(count)]
    words = ["a", "man", "dog", "is", "runs", "red", "car", "plays", "with", "the"]
    sentences = [
        {"video_id": f"video{n}", "caption": " ".join(words[(n + each * k) % 10] for k in range(1, 9))}
        for n in range(count)
        for each in range(CAPTIONS)
    ]
    Path("annotations.json").write_text(json.dumps({"videos": videos, "sentences": sentences}))


def make_project(count: int, *, with_files: bool) -> None:
    """`count` videos, and one more that waits outside."""
    dataset = {"name": "msrvtt", "videos": "videos", "annotations": "annotations.json", "split": "file"}
    params = {"dataset": dataset | {"unmatched": "ignore"}, "extract": {"x": EXTRACTOR}, "train": {}}
    Path("params.yaml").write_text(json.dumps(params))
    Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
    make_annotations(count)
    if with_files:
        make_videos(count + 1)
        Path(f"videos/video{count}.mp4").rename("one_more.mp4")


def made_index(count: int) -> None:
    """The index of files that are not there: what only `decode` would notice."""
    facts: dict[str, Any] = {"frames": FRAMES, "width": 32, "height": 32, "fps": 25.0, "duration": FRAMES / 25}
    rows = [
        VideoRow(
            id=f"video{n}",
            path=f"videos/video{n}.mp4",
            sha256=hashlib.sha256(str(n).encode()).hexdigest(),
            audio="absent",
            backend="decord",
            warnings=(),
            **facts,
        )
        for n in range(count)
    ]
    write_index(Path("data/index"), rows, times=dict.fromkeys((row.id for row in rows), np.arange(FRAMES) / 25))
