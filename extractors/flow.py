"""Optical flow itself, to look at: from each sampled frame to the one after it.

Outputs: `flow`, the mean flow in each cell of a grid of `size` x `size` (x and y, pixels of the resized frame), and
`magnitude`, the share of pixels whose motion falls between two neighbouring `EDGES`.
After the last frame there is none: it is paired with itself, and its flow is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.utils import flow_to_image

from extractors.base import Extractor, Takes, require_outputs
from extractors.parts.optical_flow import FlowMethod, flow_method
from extractors.parts.optical_flow.spynet import map_published
from extractors.parts.resizing import ResizeLibrary, Resizing

VERSION = 1
TAKES: Takes = "pairs"
BEYOND = 1
EDGES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # pixels; with the open ends, eight classes of motion
OUTPUTS = ("flow", "magnitude")
__all__ = ["BEYOND", "TAKES", "VERSION", "build", "map_published", "painted"]


class FlowExtractor(Extractor):
    takes = TAKES

    def __init__(
        self,
        method: FlowMethod,
        *,
        outputs: Sequence[str],
        size: int,
        short_side: int,
        resize: ResizeLibrary = "published",
    ) -> None:
        self.method, self.size, self.short_side, self.resizing = method, size, short_side, Resizing().by(resize)
        shapes = {"flow": (size, size, 2), "magnitude": (len(EDGES) + 1,)}
        self.outputs = {name: shapes[name] for name in outputs}
        self.preprocessing = {
            "resize_short_side": short_side,
            **self.resizing.describe(),
            **method.facts,
        }

    def prepare(self, frame: np.ndarray) -> Tensor:
        return self.resizing(frame, self.short_side)

    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, 2, 3, H, W) uint8 -> one row per pair."""
        flows = torch.cat([self.method(pair.permute(0, 2, 3, 1)) for pair in batch])  # (B, H, W, 2)
        taps = {"flow": lambda: in_cells(flows, self.size), "magnitude": lambda: shares(flows)}
        return {name: taps[name]().contiguous() for name in self.outputs}


def in_cells(flows: Tensor, size: int) -> Tensor:
    """(B, H, W, 2) -> (B, size, size, 2), whatever the shape of the picture."""
    return F.adaptive_avg_pool2d(flows.permute(0, 3, 1, 2), size).permute(0, 2, 3, 1)


def shares(flows: Tensor) -> Tensor:
    """(B, H, W, 2) -> (B, 8): how much of the picture moves how fast; a row sums to 1."""
    classes = torch.bucketize(flows.norm(dim=-1).flatten(1), flows.new_tensor(EDGES), right=True)  # (B, H W)
    return F.one_hot(classes, len(EDGES) + 1).float().mean(1)


def painted(flows: Tensor) -> Tensor:
    """(N, H, W, 2) -> (N, H, W, 3) uint8 on the usual colour wheel: hue is direction, white is rest, one scale."""
    return flow_to_image(flows.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    size: int = 28,
    short_side: int = 256,
) -> FlowExtractor:
    require_outputs(outputs, known=OUTPUTS, network=network)
    method = flow_method(network, weights=weights, device=device)
    return FlowExtractor(method, outputs=outputs, size=size, short_side=short_side, resize=resize)
