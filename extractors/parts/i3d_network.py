"""I3D: Inception-v1 inflated to video (Carreira & Zisserman 2017), on pictures or on optical flow.

Padding is TensorFlow's "SAME": computed from the size, and the odd one goes to the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.transforms.v2 import functional as transforms

from extractors.base import Takes
from extractors.parts.network import NetworkExtractor
from extractors.parts.resizing import ResizeLibrary, Resizing

CLASSES = 400
SHORT_SIDE, CROP = 256, 224
SMALLEST = 32  # pixels that are one place of the last map
HEADS = ("pool", "avg_pool", "logits", "grid")


class Mixed(NamedTuple):
    """Channels of an Inception module: 1x1; 1x1 and 3x3; 1x1 and 3x3; 1x1 after the pooling."""

    inputs: int
    one: int
    reduce_a: int
    three_a: int
    reduce_b: int
    three_b: int
    pooled: int


class Pool(NamedTuple):
    kernel: tuple[int, int, int]
    stride: tuple[int, int, int]


class Conv(NamedTuple):
    inputs: int
    outputs: int
    kernel: int
    stride: int = 1


LAYERS: dict[str, Conv | Pool | Mixed] = {
    "Conv3d_1a_7x7": Conv(3, 64, 7, stride=2),
    "MaxPool3d_2a_3x3": Pool((1, 3, 3), (1, 2, 2)),
    "Conv3d_2b_1x1": Conv(64, 64, 1),
    "Conv3d_2c_3x3": Conv(64, 192, 3),
    "MaxPool3d_3a_3x3": Pool((1, 3, 3), (1, 2, 2)),
    "Mixed_3b": Mixed(192, 64, 96, 128, 16, 32, 32),
    "Mixed_3c": Mixed(256, 128, 128, 192, 32, 96, 64),
    "MaxPool3d_4a_3x3": Pool((3, 3, 3), (2, 2, 2)),
    "Mixed_4b": Mixed(480, 192, 96, 208, 16, 48, 64),
    "Mixed_4c": Mixed(512, 160, 112, 224, 24, 64, 64),
    "Mixed_4d": Mixed(512, 128, 128, 256, 24, 64, 64),
    "Mixed_4e": Mixed(512, 112, 144, 288, 32, 64, 64),
    "Mixed_4f": Mixed(528, 256, 160, 320, 32, 128, 128),
    "MaxPool3d_5a_2x2": Pool((2, 2, 2), (2, 2, 2)),
    "Mixed_5b": Mixed(832, 256, 160, 320, 32, 128, 128),
    "Mixed_5c": Mixed(832, 384, 192, 384, 48, 128, 128),
}
OUTPUTS = (*LAYERS, *HEADS)


def same(size: int, width: int, step: int) -> tuple[int, int]:
    """Zeros before and after that make the output ceil(size / step): the odd one goes to the end."""
    total = max((-(-size // step) - 1) * step + width - size, 0)
    return total // 2, total - total // 2


def pad_same(clips: Tensor, kernel: Sequence[int], stride: Sequence[int]) -> Tensor:
    pairs = [same(*each) for each in zip(clips.shape[2:], kernel, stride, strict=True)]
    return F.pad(clips, [amount for pair in reversed(pairs) for amount in pair])  # F.pad counts from the last dimension


class Unit3d(nn.Module):
    """Convolution without bias, batch normalisation without scale, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        padding = kernel // 2 if stride == 1 else 0  # with stride 1 both sides get the same, which costs no copy
        self.conv = nn.Conv3d(inputs, outputs, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm3d(outputs, eps=1e-3)

    def forward(self, clips: Tensor) -> Tensor:
        even = self.conv.stride == (1, 1, 1)
        padded = clips if even else pad_same(clips, self.conv.kernel_size, self.conv.stride)
        return F.relu(self.norm(self.conv(padded)))


class SamePool(nn.Module):
    """What is pooled is never negative, so no padding at all (`ceil_mode`) is the same as zeros."""

    def __init__(self, kernel: Sequence[int], stride: Sequence[int]) -> None:
        super().__init__()
        self.kernel, self.stride = tuple(kernel), tuple(stride)

    def forward(self, clips: Tensor) -> Tensor:
        before = [same(*each)[0] for each in zip(clips.shape[2:], self.kernel, self.stride, strict=True)]
        return F.max_pool3d(clips, self.kernel, self.stride, before, ceil_mode=True)


class Inception(nn.Module):
    def __init__(self, sizes: Mixed) -> None:
        super().__init__()
        self.b0 = Unit3d(sizes.inputs, sizes.one, 1)
        self.b1a, self.b1b = Unit3d(sizes.inputs, sizes.reduce_a, 1), Unit3d(sizes.reduce_a, sizes.three_a, 3)
        self.b2a, self.b2b = Unit3d(sizes.inputs, sizes.reduce_b, 1), Unit3d(sizes.reduce_b, sizes.three_b, 3)
        self.pool, self.b3 = SamePool((3, 3, 3), (1, 1, 1)), Unit3d(sizes.inputs, sizes.pooled, 1)

    def forward(self, clips: Tensor) -> Tensor:
        threes = self.b1b(self.b1a(clips)), self.b2b(self.b2a(clips))
        return torch.cat([self.b0(clips), *threes, self.b3(self.pool(clips))], 1)


class I3d(nn.Module):
    """`channels` of the input: 3 for pictures, 2 for optical flow."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        layers = LAYERS | {"Conv3d_1a_7x7": Conv(channels, 64, 7, stride=2)}
        self.layers = nn.ModuleDict({name: _layer(sizes) for name, sizes in layers.items()})
        self.logits = nn.Conv3d(1024, CLASSES, 1)

    def forward(self, clips: Tensor) -> Iterator[tuple[str, Tensor]]:
        """End point after end point of (B, channels, T, 224, 224): a caller may stop at the last one it wants."""
        for name, layer in self.layers.items():
            clips = layer(clips)
            yield name, clips


def _layer(sizes: Conv | Pool | Mixed) -> nn.Module:
    if isinstance(sizes, Mixed):
        return Inception(sizes)
    return SamePool(*sizes) if isinstance(sizes, Pool) else Unit3d(*sizes)


def side_by_side(mixed_5c: Tensor) -> Tensor:
    """(B, 1024, 2, 7, 7) -> (B, 7, 7, 2048): the time steps of a place beside each other. A bare reshape scrambles."""
    return mixed_5c.permute(0, 3, 4, 2, 1).flatten(3)


def neighbours(mixed_5c: Tensor) -> Tensor:
    """What the classifier is given: the mean of every pair of neighbouring time steps, (B, 1024, T - 1, 1, 1)."""
    return F.avg_pool3d(mixed_5c, (2, *mixed_5c.shape[3:]), stride=1)


class I3dExtractor(NetworkExtractor):
    takes: Takes = "clips"
    channels = 3
    preprocessing: Mapping[str, object]

    def __init__(
        self,
        network: I3d,
        *,
        outputs: Sequence[str],
        window: int,
        device: str,
        resize: ResizeLibrary = "published",
        side: int = CROP,
    ) -> None:
        self.names, self.side, self.short_side = tuple(outputs), side, round(SHORT_SIDE * side / CROP)
        self.resizing = Resizing().by(resize)
        self.preprocessing = {
            "resize_short_side": self.short_side,
            "centre_crop": side,
            **self.resizing.describe(),
            "scale": "-1..1",
            "channels": "RGB",
        }
        self.prepare_for_inference(network, row=(self.channels, window, side, side), device=device)

    def prepare(self, frame: np.ndarray) -> Tensor:
        picture = self.resizing(frame, self.short_side)
        return transforms.center_crop(picture, [self.side, self.side]).float() * (2 / 255) - 1  # (3, side, side)

    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, T, 3, side, side) -> one row per window."""
        return self.run(batch.transpose(1, 2))

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, channels, T, side, side) -> the wanted outputs, computed no further than the last of them."""
        found: dict[str, Tensor] = {}
        for name, maps in self.network(batch.contiguous(memory_format=torch.channels_last_3d)):
            if name in self.names:
                found[name] = maps.permute(0, 2, 3, 4, 1)
            if len(found) == len(self.names):
                return self._contiguous(found)
        return self._contiguous(found | self._heads(maps))

    def _heads(self, mixed_5c: Tensor) -> dict[str, Tensor]:
        wanted = [name for name in HEADS if name in self.names]
        makers = {
            "pool": lambda: mixed_5c.mean((2, 3, 4)),
            "avg_pool": lambda: neighbours(mixed_5c).mean((2, 3, 4)),
            "logits": lambda: self.network.get_submodule("logits")(neighbours(mixed_5c)).mean((2, 3, 4)),
            "grid": lambda: side_by_side(mixed_5c),
        }
        return {name: makers[name]() for name in wanted}

    def _contiguous(self, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: found[name].contiguous() for name in self.names}
