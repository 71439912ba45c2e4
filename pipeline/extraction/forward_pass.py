"""Frames through networks: prepared one by one, completed to rows, and forwarded in batches.

The next batch is decoded and prepared in a background thread while the last one is in the network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
import torch

from extractors.base import Extractor
from pipeline.core import MissingToolError
from pipeline.extraction import sampling
from pipeline.extraction.fingerprint import BATCH, CLIP_BATCH, GPU_TIMES

Prefetched = TypeVar("Prefetched")


def forward(extractor: Extractor, frames: Iterable[np.ndarray], *, rows: sampling.SampledRows) -> dict[str, np.ndarray]:
    return forward_all([extractor], frames, rows=rows)[0]


def forward_all(
    extractors: Sequence[Extractor], frames: Iterable[np.ndarray], *, rows: sampling.SampledRows
) -> list[dict[str, np.ndarray]]:
    """The needed frames, in order, through every network; memory holds the frames of two batches and open windows."""
    passes = [_Pass(extractor, rows) for extractor in extractors]
    with closing(prefetch(_batches(passes, frames, rows))) as batches:
        for each, batch in batches:
            each.keep(forward_batch(each.extractor, batch))
    return [each.result() for each in passes]


def _batches(
    passes: Sequence[_Pass], frames: Iterable[np.ndarray], rows: sampling.SampledRows
) -> Generator[tuple[_Pass, Any], None, None]:
    for number, frame in zip(rows.needed.tolist(), frames, strict=True):
        for each in passes:
            for batch in each.add(number, frame):
                yield each, batch
    for each in passes:
        if each.waiting:
            yield each, each.batch()


def prefetch(items: Generator[Prefetched, None, None]) -> Generator[Prefetched, None, None]:
    """The same items in the same order, errors included; at most one waits, and no thread is left behind.

    `items` runs in the thread from beginning to end, and is closed there however this ends.
    """
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        coming = thread.submit(next, items, end)
        try:
            while (item := coming.result()) is not end:
                coming = thread.submit(next, items, end)
                yield item  # type: ignore[misc]
        finally:
            thread.submit(items.close)


class _Pass:
    """Prepared frames on their way through one network: rows are completed in order and go in batches."""

    def __init__(self, extractor: Extractor, rows: sampling.SampledRows) -> None:
        self.extractor = extractor
        # What is still to come, each the frames it is made of; the whole video is one piece and gives all rows
        self.open = deque([rows.whole] if extractor.takes == "video" else rows.indices.tolist())
        self.prepared: dict[int, Any] = {}
        self.waiting: list[Any] = []
        self.parts: dict[str, list[np.ndarray]] = {
            name: [np.empty((0, *shape), np.float32)] for name, shape in extractor.outputs.items()
        }

    def add(self, number: int, frame: np.ndarray) -> Iterator[Any]:
        """The batches that this frame makes full."""
        self.prepared[number] = self.extractor.prepare(frame)
        while self.open and max(self.open[0]) <= number:
            self.waiting.append(self._completed(self.open.popleft()))
            if len(self.waiting) >= batch_of(self.extractor):
                yield self.batch()
        first = min(self.open[0]) if self.open else number + 1
        self.prepared = {kept: tensor for kept, tensor in self.prepared.items() if kept >= first}

    def _completed(self, row: list[int]) -> Any:
        frames = [self.prepared[number] for number in row]
        return frames[0] if self.extractor.takes == "frames" else torch.stack(frames)

    def batch(self) -> Any:
        """What waits; for a GPU in pinned memory, from where it is copied fast, pinned while the GPU is at work."""
        batch, self.waiting = torch.stack(self.waiting), []
        return batch.pin_memory() if on_gpu(self.extractor) else batch

    def keep(self, found: dict[str, np.ndarray]) -> None:
        for name, arrays in found.items():
            self.parts[name].append(arrays)

    def result(self) -> dict[str, np.ndarray]:
        return {name: np.concatenate(arrays) for name, arrays in self.parts.items()}


def on_gpu(extractor: Extractor) -> bool:
    device = getattr(extractor, "device", None)
    return device is not None and device.type == "cuda"


def batch_of(extractor: Extractor) -> int:
    """Rows per forward pass. On a GPU more, and memory decides; on a CPU always the same, so that bytes are."""
    usual = BATCH if extractor.takes in ("frames", "audio") else CLIP_BATCH
    return extractor.most_rows or (usual * GPU_TIMES if on_gpu(extractor) else usual)


def forward_batch(extractor: Extractor, batch: Any) -> dict[str, np.ndarray]:
    """One batch forward, in halves when it does not fit into memory; the extractor then remembers what did."""
    try:
        return {name: rows.float().cpu().numpy() for name, rows in extractor(batch).items()}
    except torch.OutOfMemoryError as error:
        if len(batch) == 1:
            message = f"not even one row of '{', '.join(extractor.outputs)}' fits into the memory of the device"
            raise MissingToolError(message, hint="free the device's memory, or extract on the CPU") from error
    torch.cuda.empty_cache()
    extractor.most_rows = -(-len(batch) // 2)
    halves = [forward_batch(extractor, half) for half in batch.split(extractor.most_rows)]
    return {name: np.concatenate([half[name] for half in halves]) for name in extractor.outputs}
