"""SPyNet (Ranjan & Black 2017): a pyramid of six small networks, each correcting the flow of the coarser one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from extractors.base import load_weights
from extractors.parts.optical_flow.base import FlowMethod

LEVELS = 6
MULTIPLE = 32  # sides are halved five times
CHANNELS = (8, 32, 64, 32, 16, 2)  # of a level: two pictures and a flow in, a correction out
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class SpynetLevel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(CHANNELS):
            layers += [nn.Conv2d(inputs, outputs, 7, padding=3), nn.ReLU()]
        self.basic_module = nn.Sequential(*layers[:-1])  # no ReLU at the end: a correction has a sign

    def forward(self, stacked: Tensor) -> Tensor:
        return self.basic_module(stacked)


class SpynetNetwork(nn.Module):
    """Names as published, so that a checkpoint loads strictly."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.basic_module = nn.ModuleList([SpynetLevel() for _ in range(LEVELS)])
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(STD).view(1, 3, 1, 1))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(N, 3, H, W) from 0 to 1, H and W multiples of 32 -> (N, 2, H, W)."""
        firsts, seconds = self._pyramid(first), self._pyramid(second)
        flow = first.new_zeros(len(first), 2, *firsts[0].shape[-2:])
        for number, (level, one, other) in enumerate(zip(self.basic_module, firsts, seconds, strict=True)):
            if number > 0:
                flow = 2 * F.interpolate(flow, scale_factor=2, mode="bilinear", align_corners=True)
            flow = flow + level(torch.cat([one, warp(other, flow), flow], 1))
        return flow

    def _pyramid(self, pictures: Tensor) -> list[Tensor]:
        """Coarsest first."""
        levels = [(pictures - self.mean) / self.std]
        for _ in range(LEVELS - 1):
            levels.append(F.avg_pool2d(levels[-1], 2))
        return levels[::-1]


def warp(pictures: Tensor, flow: Tensor) -> Tensor:
    """Undo the motion: the value at p is the picture's at p + flow(p); beyond the edges they are repeated."""
    height, width = flow.shape[-2:]
    rows, columns = torch.meshgrid(
        torch.arange(height, device=flow.device), torch.arange(width, device=flow.device), indexing="ij"
    )
    x = 2 * (columns + flow[:, 0]) / max(width - 1, 1) - 1
    y = 2 * (rows + flow[:, 1]) / max(height - 1, 1) - 1
    places = torch.stack([x, y], -1)  # (N, H, W, 2)
    return F.grid_sample(pictures, places, mode="bilinear", padding_mode="border", align_corners=True)


class Spynet(FlowMethod):
    has_weights = True

    def __init__(self, name: str, *, weights: Mapping[str, Tensor] | None, device: str) -> None:
        self.device = torch.device(device)
        self.network = SpynetNetwork().eval()
        if weights is not None:
            load_weights(self.network, weights, network=name)
        self.network.to(self.device)
        self.facts = {"flow": name, "flow_resize": f"bilinear to a multiple of {MULTIPLE}"}

    def between(self, first: Tensor, second: Tensor) -> Tensor:
        height, width = first.shape[-2:]
        size = [-(-side // MULTIPLE) * MULTIPLE for side in (height, width)]
        frames = F.interpolate(torch.cat([first, second]).to(self.device), size, mode="bilinear", align_corners=False)
        flows = self.network(*frames.chunk(2))
        back = F.interpolate(flows, [height, width], mode="bilinear", align_corners=False)
        return back * back.new_tensor([width / size[1], height / size[0]]).view(1, 2, 1, 1)


CONVOLUTION = re.compile(r"(\d+)\.[A-Za-z_]+\.(\d+)\.(?:conv\.)?(weight|bias)$")


def map_published(tree: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state of `SpynetNetwork`, from its own checkpoints or from one of a network that contains it (`spynet.`).

    Ports number the convolutions of a level 0, 2, 4, 6, 8 or 0 to 4, and call them differently: their order decides.
    """
    state = tree.get("params") or tree.get("state_dict") or tree
    inner = {name: tensor for name, tensor in state.items() if "spynet." in name} or state
    found = {match.groups(): tensor for name, tensor in inner.items() if (match := CONVOLUTION.search(name))}
    order = sorted({int(number) for _, number, _ in found})
    mapped = {
        f"basic_module.{level}.basic_module.{2 * order.index(int(number))}.{kind}": tensor
        for (level, number, kind), tensor in found.items()
    }
    return {**mapped, "mean": torch.tensor(MEAN).view(1, 3, 1, 1), "std": torch.tensor(STD).view(1, 3, 1, 1)}
