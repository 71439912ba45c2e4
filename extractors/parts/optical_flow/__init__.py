"""Optical flow: how far each pixel of a frame has moved in the next one, in pixels (x to the right, y down).

A method takes (T + 1, H, W, 3) frames, uint8 or floats from 0 to 1, and gives (T, H, W, 2) float32.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from extractors.base import RANDOM_SEED, ExtractorError
from extractors.parts.optical_flow.base import FlowMethod
from extractors.parts.optical_flow.raft import Raft
from extractors.parts.optical_flow.spynet import Spynet
from extractors.parts.optical_flow.tvl1 import Tvl1

METHODS: dict[str, type[FlowMethod]] = {"tvl1": Tvl1, "raft_small": Raft, "raft_large": Raft, "spynet": Spynet}


def flow_method(
    name: str, *, weights: Mapping[str, Tensor] | None = None, device: str = "cpu", updates: int = 0
) -> FlowMethod:
    """The method of that name. `weights` None is an untrained network, an empty state fits only what has no weights.

    `updates` are RAFT's, where not the usual ones.
    """
    if name not in METHODS:
        raise ExtractorError(f"there is no optical flow '{name}'; known: {', '.join(METHODS)}")
    if METHODS[name].has_weights and weights == {}:
        raise ExtractorError(f"{name} is a network, and these weights bring none for it; tvl1 needs no weights")
    torch.manual_seed(RANDOM_SEED)
    if updates:
        if METHODS[name] is not Raft or updates < 0:
            raise ExtractorError(f"updates is {updates}; only RAFT has any, and at least one")
        return Raft(name, weights=weights, device=device, updates=updates)
    return METHODS[name](name, weights=weights, device=device)


__all__ = ["METHODS", "FlowMethod", "flow_method"]
