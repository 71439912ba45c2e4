"""The family `accelerator`: a simulated device that computes for so many milliseconds a row and takes no processor.

Each batch adds a line to the file that FEED_BUSY names: when the device began, and when it was done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from extractors.base import Extractor, Takes
from extractors.parts.resizing import Resizing

VERSION = 0
TAKES: Takes = "frames"
SIDE, SHORT_SIDE = 224, 256


class Accelerator(Extractor):
    """Its feature is the corner of the prepared frame, whose sizes are those of most image networks."""

    takes = TAKES
    outputs: Mapping[str, tuple[int, ...]] = {"corner": (3,)}

    def __init__(self, milliseconds: float) -> None:
        self.seconds = milliseconds / 1000
        self.resizing = Resizing()
        self.preprocessing = {"short_side": SHORT_SIDE, "crop": SIDE}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        picture = self.resizing(frame, SHORT_SIDE)
        top, left = ((length - SIDE) // 2 for length in picture.shape[1:])
        return picture[:, top : top + SIDE, left : left + SIDE].float().div_(255).sub_(0.5).div_(0.25)

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        began = time.time()
        time.sleep(self.seconds * len(batch))
        os.write(log(), f"{began} {time.time()}\n".encode())
        return {"corner": batch[:, :, 0, 0]}


@cache
def log() -> int:
    """Open as long as the process lives: what is measured is not to wait for it."""
    return os.open(os.environ["FEED_BUSY"], os.O_WRONLY | os.O_APPEND)


def build(
    network: str, *, outputs: Sequence[str], weights: Any, device: str = "cpu", milliseconds: float = 1.0
) -> Accelerator:
    return Accelerator(milliseconds)
