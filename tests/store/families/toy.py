"""The cheapest honest extractor: mean colours. For tests of everything around the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from extractors.base import Extractor

VERSION = 1
TAKES = "frames"
SHAPES = {"colour": (3,), "corner": (2, 3)}


class Toy(Extractor):
    takes = "frames"

    def __init__(self, outputs: Sequence[str], *, brightness: float) -> None:
        self.brightness = brightness
        self.preprocessing = {"scale": "0..1"}
        self.outputs = {name: SHAPES[name] for name in outputs}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(frame.astype(np.float32) / 255)

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        taps = {"colour": batch.mean((1, 2)), "corner": batch[:, 0, :2]}
        return {name: taps[name] * self.brightness for name in self.outputs}


def build(network: str, *, outputs: Sequence[str], weights: Mapping[str, torch.Tensor] | None, device: str) -> Toy:
    return Toy(outputs, brightness=float(weights["brightness"]) if weights else 1.0)
