"""Image networks of torchvision on single frames, by name: those made of `features` or of stages before `avgpool`
(MobileNet, EfficientNet, DenseNet, ConvNeXt, ResNet, ResNeXt, RegNet, ...).

Outputs: `pool`, the mean of the last spatial map, and `grid`, that map with channels last.
Preprocessing is that of the network's first published ("V1") weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torchvision.models import get_model, get_model_weights
from torchvision.transforms._presets import ImageClassification

from extractors.base import Takes, UnknownOutputError
from extractors.network import NetworkExtractor

VERSION = 2
TAKES: Takes = "frames"
OUTPUTS = ("pool", "grid")
RANDOM_SEED = 0  # untrained networks are at least the same untrained network everywhere


class FrameExtractor(NetworkExtractor):
    takes = TAKES

    def __init__(
        self, trunk: nn.Module, transform: ImageClassification, *, outputs: Sequence[str], device: str
    ) -> None:
        self.transform = transform
        self.names = tuple(outputs)
        self.preprocessing = describe(transform)
        size = transform.crop_size[0]
        self.settle(trunk, row=(3, size, size), device=device)

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return self.transform(torch.from_numpy(frame).permute(2, 0, 1))  # (3, S, S) float32

    def forward(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        grid = self.network(batch.to(memory_format=torch.channels_last))  # (B, C, h, w)
        taps = {"pool": grid.mean((2, 3)), "grid": grid.permute(0, 2, 3, 1)}
        return {name: taps[name].contiguous() for name in self.names}


def build(
    network: str, *, outputs: Sequence[str], weights: Mapping[str, torch.Tensor] | None, device: str = "cpu"
) -> FrameExtractor:
    unknown = [name for name in outputs if name not in OUTPUTS]
    if unknown:
        raise UnknownOutputError(network, unknown, OUTPUTS)
    torch.manual_seed(RANDOM_SEED)
    model = get_model(network, weights=None)
    if weights is not None:
        model.load_state_dict(weights)
    transform = next(iter(get_model_weights(network))).transforms()
    return FrameExtractor(trunk_of(model), transform, outputs=outputs, device=device)


def trunk_of(model: nn.Module) -> nn.Module:
    """The network up to its last spatial map: torchvision calls it `features`, or everything before `avgpool`."""
    children = dict(model.named_children())
    if "features" in children:
        return children["features"]
    return nn.Sequential(*(children[name] for name in list(children)[: list(children).index("avgpool")]))


def describe(transform: ImageClassification) -> dict[str, Any]:
    return {
        "resize_short_side": transform.resize_size[0],
        "centre_crop": transform.crop_size[0],
        "interpolation": transform.interpolation.value,
        "antialias": bool(transform.antialias),
        "resize_library": "torch uint8",
        "scale": "0..1",
        "mean": list(transform.mean),
        "std": list(transform.std),
        "channels": "RGB",
    }
