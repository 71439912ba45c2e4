"""The family `accelerator`: a simulated device that computes for so many milliseconds a row and takes no processor.

It is simulated twice. `queued`, as a GPU is: starting a pass puts it behind those that were started before, and the
host goes on; a pass begins when the last one is done and its batch has been copied, which takes its time on a stream of
its own. Else as a function that the host waits for: whatever wakes the host late then counts against the device.
Each batch adds a line to the file that FEED_BUSY names: when the device began, and when it was done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from extractors.base import Extractor, Takes
from extractors.parts.resizing import Resizing
from pipeline.extraction import forward_pass
from pipeline.extraction.device import Device, Found, device_of

VERSION = 0
TAKES: Takes = "frames"
SIDE, SHORT_SIDE = 224, 256
COPIED = 12e9  # bytes a second from pinned memory, as PCI Express 3 has them


class Accelerator(Extractor):
    """Its feature is the corner of the prepared frame, whose sizes are those of most image networks."""

    takes = TAKES
    outputs: Mapping[str, tuple[int, ...]] = {"corner": (3,)}

    def __init__(self, milliseconds: float, *, queued: bool = False) -> None:
        self.seconds, self.queued = milliseconds / 1000, queued
        self.resizing = Resizing()
        self.preprocessing = {"short_side": SHORT_SIDE, "crop": SIDE}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return self.finish(self.pixels(frame))

    def pixels(self, frame: np.ndarray) -> torch.Tensor:
        picture = self.resizing(frame, SHORT_SIDE)
        top, left = ((length - SIDE) // 2 for length in picture.shape[1:])
        return picture[:, top : top + SIDE, left : left + SIDE]

    def finish(self, batch: torch.Tensor) -> torch.Tensor:
        return batch.float().div_(255).sub_(0.5).div_(0.25)

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        began = time.time()
        time.sleep(self.seconds * len(batch))
        note(began, time.time())
        return {"corner": corner(batch)}


class Stream(Device):
    """Work of a known length, one after another: when it is done follows from when it was queued."""

    def __init__(self) -> None:
        super().__init__()
        self.copied = self.free = 0.0  # when what was queued so far is done

    def prepared(self, extractor: Extractor, frame: np.ndarray) -> torch.Tensor:
        """As to a GPU, whole numbers travel, which are normalised there."""
        return extractor.pixels(frame)

    def start(self, extractor: Accelerator, batch: torch.Tensor) -> Callable[[], Found]:  # type: ignore[override]
        self.copied = max(time.time(), self.copied) + batch.nbytes / COPIED
        began = max(self.copied, self.free)
        done = self.free = began + extractor.seconds * len(batch)
        note(began, done)
        rows = extractor.finish(corner(batch)).numpy()

        def fetch() -> Found:
            time.sleep(max(0.0, done - time.time()))
            return {"corner": rows}

        return fetch


STREAM = Stream()


def corner(batch: torch.Tensor) -> torch.Tensor:
    return batch[:, :, 0, 0].clone()


def note(began: float, done: float) -> None:
    os.write(log(), f"{began} {done}\n".encode())


@cache
def log() -> int:
    """Open as long as the process lives: what is measured is not to wait for it."""
    return os.open(os.environ["FEED_BUSY"], os.O_WRONLY | os.O_APPEND)


def stand_in(extractor: Extractor) -> Device:
    return STREAM if getattr(extractor, "queued", False) else device_of(extractor)


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Any,
    device: str = "cpu",
    milliseconds: float = 1.0,
    queued: bool = False,
) -> Accelerator:
    forward_pass.device_of = stand_in
    return Accelerator(milliseconds, queued=queued)
