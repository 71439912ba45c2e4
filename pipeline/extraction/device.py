"""The device that networks run on, shared by all videos in flight: each batch has its turn, none waits for results.

Passes are started one after another, those of the oldest video first. What a pass found is fetched behind it, by
whoever asked for it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache

import numpy as np
import torch

from extractors.base import Extractor
from extractors.parts.network import NetworkExtractor
from pipeline.extraction.turns import Started, Turns

Found = dict[str, np.ndarray]  # output -> float32 rows
_devices: weakref.WeakSet[Device] = weakref.WeakSet()


class Device:
    """A processor: a pass that was started is done."""

    def __init__(self) -> None:
        self._open()
        os.register_at_fork(after_in_child=self._open)  # which has no threads

    def _open(self) -> None:
        self._turns = Turns()
        _devices.add(self)

    def in_turn(self, start: Callable[[], Started], *, place: int) -> Future[Started]:
        """What starts a pass, to be called before those that wait for a later `place`, and behind all others."""
        return self._turns.add(start, place=place)

    def drop_waiting(self) -> None:
        """Whoever waits for a turn gets a CancelledError; the pass that is being started goes on."""
        self._turns.drop()

    def prepared(self, extractor: Extractor, frame: np.ndarray) -> torch.Tensor:
        """As it travels."""
        return extractor.prepare(frame)

    def pinned(self, batch: torch.Tensor) -> torch.Tensor:
        """Where the device copies it from fastest."""
        return batch

    def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
        """Call what this returns for the rows, outside of the turn; all memory that a pass needs is taken here."""
        found = {name: rows.float().cpu().numpy() for name, rows in extractor(batch).items()}
        return lambda: found

    def make_room(self) -> None:
        """A batch did not fit: give back memory that is kept for later batches."""


class CudaDevice(Device):
    """Batches go there on a stream of their own while the last one is computed; rows come back into pinned memory.

    Frames go as whole numbers where a family can finish them there.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device, self._copies = device, torch.cuda.Stream(device)

    def prepared(self, extractor: Extractor, frame: np.ndarray) -> torch.Tensor:
        return extractor.pixels(frame) if _is_moved(extractor) else extractor.prepare(frame)

    def pinned(self, batch: torch.Tensor) -> torch.Tensor:
        return batch.pin_memory()

    def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
        stream = torch.cuda.current_stream(self._device)
        found = extractor(extractor.finish(self._moved(batch, stream)) if _is_moved(extractor) else batch)
        rows = {name: _to_pinned(each.float()) for name, each in found.items()}
        done = torch.cuda.Event()
        done.record(stream)

        def fetch() -> Found:
            done.synchronize()
            return {name: each.numpy() for name, each in rows.items()}

        return fetch

    def make_room(self) -> None:
        torch.cuda.empty_cache()

    def _moved(self, batch: torch.Tensor, stream: torch.cuda.Stream) -> torch.Tensor:
        with torch.cuda.stream(self._copies):
            moved = batch.to(self._device, non_blocking=True)
        stream.wait_stream(self._copies)
        moved.record_stream(stream)  # its memory is not for the next copy before this pass is done
        return moved


def _is_moved(extractor: Extractor) -> bool:
    """A whole video may be too long for the device, and a foreign family may not expect its batch there."""
    return isinstance(extractor, NetworkExtractor) and extractor.takes not in ("video", "audio")


def _to_pinned(rows: torch.Tensor) -> torch.Tensor:
    return torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True).copy_(rows, non_blocking=True)


def on_gpu(extractor: Extractor) -> bool:
    device = getattr(extractor, "device", None)
    return device is not None and device.type == "cuda"


def device_of(extractor: Extractor) -> Device:
    return _cuda(extractor.device) if on_gpu(extractor) else PROCESSOR  # type: ignore[attr-defined]


def drop_waiting() -> None:
    """The run is over: nobody wants the rows of what has not begun."""
    for device in list(_devices):
        device.drop_waiting()


PROCESSOR = Device()
_making = threading.Lock()


def _cuda(device: torch.device) -> Device:
    with _making:
        return _made(device)


@cache
def _made(device: torch.device) -> Device:
    return CudaDevice(device)
