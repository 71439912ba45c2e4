"""Frames through networks: prepared one by one, completed to rows, and forwarded in batches.

The next batch is decoded and prepared in a background thread while the last one is in the network, and batches of other
videos have their turns in between: the oldest video goes first.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from extractors.base import Extractor
from pipeline.core import MissingToolError
from pipeline.decoding import prefetch
from pipeline.extraction import sampling
from pipeline.extraction.device import Device, Found, device_of, on_gpu
from pipeline.extraction.fingerprint import BATCH, CLIP_BATCH, GPU_TIMES

AHEAD = 1  # batches of a video that wait for their turn while another one is in it
_places = itertools.count()  # of videos at a device, in the order in which they begin


class RowsMade(Protocol):
    """Hears how many rows of a video a network has made so far, and how many there will be."""

    def __call__(self, made: int, total: int) -> None: ...


def forward(extractor: Extractor, frames: Iterable[np.ndarray], *, rows: sampling.SampledRows) -> dict[str, np.ndarray]:
    return forward_all([extractor], frames, rows=rows)[0]


def forward_all(
    extractors: Sequence[Extractor], frames: Iterable[np.ndarray], *, rows: sampling.SampledRows
) -> list[dict[str, np.ndarray]]:
    return forward_each([(extractor, rows) for extractor in extractors], frames)


def forward_each(
    pairs: Sequence[tuple[Extractor, sampling.SampledRows]],
    frames: Iterable[np.ndarray],
    told: Sequence[RowsMade] = (),
) -> list[dict[str, np.ndarray]]:
    """Every network takes those of `frames` that its own rows are made of; together they are `needed_by` all rows.

    Memory holds the frames of two batches and open windows of each. `told`: by network.
    """
    tellers = told or [untold] * len(pairs)
    passes = [_Pass(extractor, rows, each) for (extractor, rows), each in zip(pairs, tellers, strict=True)]
    place = next(_places)
    with closing(prefetch(_batches(passes, frames, needed_by([rows for _, rows in pairs])))) as batches:
        waiting = deque[tuple[_Pass, Callable[[], Found]]]()
        for each, batch in batches:
            waiting.append((each, begun(each.extractor, batch, place=place)))
            if len(waiting) > AHEAD:
                keep_first(waiting)
        while waiting:
            keep_first(waiting)
    return [each.result() for each in passes]


def untold(made: int, total: int) -> None:
    """Nobody asked how many rows there are."""


def needed_by(rows: Sequence[sampling.SampledRows]) -> np.ndarray:
    """The frames to decode for all of them: sorted, each once."""
    return np.unique(np.concatenate([each.needed for each in rows]))


def _batches(
    passes: Sequence[_Pass], frames: Iterable[np.ndarray], numbers: np.ndarray
) -> Generator[tuple[_Pass, Any], None, None]:
    for number, frame in zip(numbers.tolist(), frames, strict=True):
        for each in passes:
            for batch in each.add(number, frame) if number in each.needed else ():
                yield each, batch
    for each in passes:
        if each.waiting:
            yield each, each.batch()


def keep_first(waiting: deque[tuple[_Pass, Callable[[], Found]]]) -> None:
    each, found = waiting.popleft()
    each.keep(found())


class _Pass:
    """Prepared frames on their way through one network: rows are completed in order and go in batches."""

    def __init__(self, extractor: Extractor, rows: sampling.SampledRows, told: RowsMade = untold) -> None:
        self.extractor = extractor
        self.made, self.told = 0, partial(told, total=len(rows))
        self.needed = frozenset(rows.needed.tolist())
        # What is still to come, each the frames it is made of; the whole video is one piece and gives all rows
        self.open = deque([rows.whole] if extractor.takes == "video" else rows.indices.tolist())
        self.prepared: dict[int, Any] = {}
        self.waiting: list[Any] = []
        self.parts: dict[str, list[np.ndarray]] = {
            name: [np.empty((0, *shape), np.float32)] for name, shape in extractor.outputs.items()
        }
        self.told(0)

    def add(self, number: int, frame: np.ndarray) -> Iterator[Any]:
        """The batches that this frame makes full."""
        self.prepared[number] = device_of(self.extractor).prepared(self.extractor, frame)
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
        """What waits, pinned while the device is at work."""
        batch, self.waiting = torch.stack(self.waiting), []
        return device_of(self.extractor).pinned(batch)

    def keep(self, found: dict[str, np.ndarray]) -> None:
        for name, arrays in found.items():
            self.parts[name].append(arrays)
        self.made += len(next(iter(found.values())))
        self.told(self.made)

    def result(self) -> dict[str, np.ndarray]:
        return {name: np.concatenate(arrays) for name, arrays in self.parts.items()}


def batch_of(extractor: Extractor) -> int:
    """Rows per forward pass. On a GPU more, and memory decides; on a CPU always the same, so that bytes are."""
    usual = BATCH if extractor.takes in ("frames", "audio") else CLIP_BATCH
    return extractor.most_rows or (usual * GPU_TIMES if on_gpu(extractor) else usual)


def forward_batch(extractor: Extractor, batch: Any) -> Found:
    return begun(extractor, batch, place=next(_places))()


def begun(extractor: Extractor, batch: Any, *, place: int) -> Callable[[], Found]:
    """One batch forward in its turn, in parts when it does not fit into memory; call what this returns for the rows."""
    device = device_of(extractor)
    passes = device.in_turn(partial(_started, device, extractor, batch), place=place)

    def found() -> Found:
        parts = [fetch() for fetch in passes.result()]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    return found


def _started(device: Device, extractor: Extractor, batch: Any) -> list[Callable[[], Found]]:
    """In halves where memory is short; the extractor then remembers what did fit, also for batches that wait."""
    size = extractor.most_rows or len(batch)
    if len(batch) > size:
        return [fetch for part in batch.split(size) for fetch in _started(device, extractor, part)]
    try:
        return [device.start(extractor, batch)]
    except torch.OutOfMemoryError as error:
        if len(batch) == 1:
            message = f"not even one row of '{', '.join(extractor.outputs)}' fits into the memory of the device"
            raise MissingToolError(message, hint="free the device's memory, or extract on the CPU") from error
    device.make_room()
    extractor.most_rows = -(-len(batch) // 2)
    return _started(device, extractor, batch)
