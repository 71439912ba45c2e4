"""I3D on optical flow (Carreira & Zisserman 2017), the second stream beside `i3d`.

Rows are the same windows as those of the pictures: a window of T frames needs the frame after it as well, for T flow
maps; at the end of the video that is the last frame again, and the last map is 0. Outputs are those of `i3d`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as transforms

from extractors.base import Takes, make_network, require_network, require_outputs
from extractors.parts.i3d_network import CROP, OUTPUTS, SHORT_SIDE, I3d, I3dExtractor
from extractors.parts.optical_flow import FlowMethod, flow_method
from extractors.parts.resizing import ResizeLibrary

VERSION = 2
TAKES: Takes = "clips"
BEYOND = 1
LARGEST = 20.0  # pixels; longer motion is truncated, as it was for training


def scaled(flows: Tensor, *, eight_bit: bool = False) -> Tensor:
    """Pixels to -1..1. With `eight_bit` by way of whole numbers from 0 to 255, like flow that was kept as jpg."""
    truncated = flows.clamp(-LARGEST, LARGEST)
    if not eight_bit:
        return truncated / LARGEST
    levels = (128 + 255 / (2 * LARGEST) * truncated).round().clamp(0, 255)
    return levels * (2 / 255) - 1


class I3dFlowExtractor(I3dExtractor):
    takes = TAKES
    channels = 2

    def __init__(
        self,
        network: I3d,
        *,
        method: FlowMethod,
        eight_bit: bool,
        outputs: Sequence[str],
        window: int,
        device: str,
        resize: ResizeLibrary = "published",
    ) -> None:
        super().__init__(network, outputs=outputs, window=window, device=device, resize=resize)
        self.method, self.eight_bit = method, eight_bit
        self.preprocessing = {
            "resize_short_side": SHORT_SIDE,
            **self.resizing.describe(),
            **method.facts,
            "truncate": LARGEST,
            "eight_bit": eight_bit,
            "centre_crop": CROP,
            "scale": "-1..1",
        }

    def prepare(self, frame: np.ndarray) -> Tensor:
        """Not yet cropped: what moves in from outside the crop is seen by the flow."""
        return self.resizing(frame, SHORT_SIDE)

    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, T + 1, 3, H, W) uint8 -> one row per window."""
        flows = torch.stack([self.method(frames.permute(0, 2, 3, 1)) for frames in batch])  # (B, T, H, W, 2)
        cropped = transforms.center_crop(flows.permute(0, 4, 1, 2, 3), [CROP, CROP])  # (B, 2, T, 224, 224)
        return self.run(scaled(cropped, eight_bit=self.eight_bit))


def split(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The flow network's and I3D's state, from a bundle with the prefixes `flow.` and `i3d.` or from I3D's alone."""
    parts: dict[str, dict[str, Tensor]] = {"flow": {}, "i3d": {}}
    for name, tensor in weights.items():
        prefix, _, rest = name.partition(".")
        part, key = (prefix, rest) if prefix in parts else ("i3d", name)
        parts[part][key] = tensor
    return parts["flow"], parts["i3d"]


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = 16,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    flow: str = "tvl1",
    eight_bit: bool = False,
    updates: int = 0,
) -> I3dFlowExtractor:
    require_network(network, ["i3d_flow"])
    require_outputs(outputs, known=OUTPUTS, network=network)
    flow_state, i3d_state = (None, None) if weights is None else split(weights)
    method = flow_method(flow, weights=flow_state, device=device, updates=updates)
    return I3dFlowExtractor(
        make_network(network, lambda: I3d(channels=2), i3d_state),
        method=method,
        eight_bit=eight_bit,
        outputs=outputs,
        window=window,
        device=device,
        resize=resize,
    )
