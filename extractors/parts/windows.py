"""What networks on windows of frames share: how a frame is prepared, and how the wanted layers are kept.

Such a network is a module that yields (name, tensor) layer after layer, so that nothing behind the last wanted one is
computed. Maps are stored with channels last: (T, H, W, C).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.transforms.v2 import functional as transforms

from extractors.base import Takes
from extractors.parts.levels import normalised
from extractors.parts.network import NetworkExtractor
from extractors.parts.resizing import ResizeLibrary, ResizeSize, Resizing


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Resize, centre crop, then (value - mean) / std on the scale 0..255."""

    resize: ResizeSize
    crop: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    resizing: Resizing = field(default_factory=Resizing)

    def by(self, library: ResizeLibrary) -> Preparation:
        return replace(self, resizing=self.resizing.by(library))

    def __call__(self, frame: np.ndarray) -> Tensor:
        return self.finish(self.pixels(frame))  # (3, crop, crop)

    def pixels(self, frame: np.ndarray) -> Tensor:
        return transforms.center_crop(self.resizing(frame, self.resize), [self.crop, self.crop])

    def finish(self, levels: Tensor) -> Tensor:
        return normalised(levels, scale=1, mean=self.mean, std=self.std)

    def describe(self) -> dict[str, Any]:
        facts = {name: value for name, value in asdict(self).items() if name != "resizing"}
        return {**facts, **self.resizing.describe(), "scale": "0..255", "channels": "RGB"}


class StagedExtractor(NetworkExtractor):
    """The wanted layers of a network on windows of square pictures."""

    takes: Takes = "clips"

    def __init__(self, network: nn.Module, *, outputs: Sequence[str], window: int, side: int, device: str) -> None:
        self.names = tuple(outputs)
        self.prepare_for_inference(network, row=(window, 3, side, side), device=device)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, T, 3, H, W) -> one row per window."""
        clips = batch.transpose(1, 2).contiguous(memory_format=torch.channels_last_3d)
        return tapped(self.network(clips), self.names)


class WindowExtractor(StagedExtractor):
    """With the usual preparation of a frame."""

    def __init__(
        self, network: nn.Module, *, preparation: Preparation, outputs: Sequence[str], window: int, device: str
    ) -> None:
        self.preparation = preparation
        self.preprocessing = preparation.describe()
        super().__init__(network, outputs=outputs, window=window, side=preparation.crop, device=device)

    def prepare(self, frame: np.ndarray) -> Tensor:
        return self.preparation(frame)

    def pixels(self, frame: np.ndarray) -> Tensor:
        return self.preparation.pixels(frame)

    def finish(self, batch: Tensor) -> Tensor:
        return self.preparation.finish(batch)


def tapped(layers: Iterable[tuple[str, Tensor]], wanted: Collection[str]) -> dict[str, Tensor]:
    """The wanted layers with channels last; the network is not asked for more once all are there."""
    found: dict[str, Tensor] = {}
    for name, tensor in layers:
        if name in wanted:
            found[name] = tensor.movedim(1, -1).contiguous()
        if len(found) == len(set(wanted)):
            break
    return {name: found[name] for name in wanted}


def without_prefix(state: Mapping[str, Any], *prefixes: str) -> dict[str, Any]:
    """A published state dictionary, taken out of its checkpoint and free of the names of its wrappers."""
    tensors = state.get("state_dict", state)
    for prefix in prefixes:
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    return dict(tensors)
