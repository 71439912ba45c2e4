"""RAFT (Teed & Deng 2020), torchvision's `raft_small` and `raft_large`."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.models import get_model

from extractors.base import load_weights
from extractors.parts.optical_flow.base import FlowMethod

MULTIPLE, SMALLEST = 8, 128  # the network takes sides that are a multiple, from a smallest on
UPDATES = 12


def padding_of(height: int, width: int) -> list[int]:
    """Left, right, top, bottom: to the next size that the network takes, the picture in the middle."""
    sides: list[int] = []
    for size in (width, height):
        missing = max(SMALLEST, -(-size // MULTIPLE) * MULTIPLE) - size
        sides += [missing // 2, missing - missing // 2]
    return sides


class Raft(FlowMethod):
    has_weights = True

    def __init__(self, name: str, *, weights: Mapping[str, Tensor] | None, device: str, updates: int = UPDATES) -> None:
        self.device, self.updates = torch.device(device), updates
        self.network = get_model(name, weights=None).eval()
        if weights is not None:
            load_weights(self.network, weights, network=name)
        self.network.to(self.device)
        self.facts = {"flow": name, "flow_updates": updates, "flow_padding": f"edge, {MULTIPLE}, {SMALLEST}"}

    def between(self, first: Tensor, second: Tensor) -> Tensor:
        height, width = first.shape[-2:]
        left, right, top, bottom = padding_of(height, width)
        frames = torch.cat([first, second]).to(self.device) * 2 - 1
        one, other = F.pad(frames, [left, right, top, bottom], mode="replicate").chunk(2)
        flows = self.network(one, other, num_flow_updates=self.updates)[-1]  # (N, 2, H', W')
        return flows[..., top : top + height, left : left + width]
