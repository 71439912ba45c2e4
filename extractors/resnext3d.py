"""3D-ResNeXt (Hara et al. 2018), Kinetics-400, on windows of RGB frames: 8 or 16 of them give one step in time.

Outputs: `layer1` ... `layer4` (channels last: T, H, W, C), `pool` (2048, the mean of layer4) and `logits` (400).
Pixels stay on the scale 0..255 and only lose a mean: the published weights know neither /255 nor a deviation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from extractors.base import Takes, make_network, require_network, require_outputs
from extractors.parts.residual3d import OUTPUTS, Residual3d
from extractors.parts.resizing import ResizeLibrary
from extractors.parts.windows import Preparation, WindowExtractor, without_prefix

VERSION = 2
TAKES: Takes = "clips"
CARDINALITY = 32
WIDTHS = (128, 256, 512, 1024)  # of the 3x3x3 convolutions; a block's output is twice as wide
NETWORKS = {"resnext50_3d": (3, 4, 6, 3), "resnext101_3d": (3, 4, 23, 3), "resnext152_3d": (3, 8, 36, 3)}
PREPARATION = Preparation(resize=112, crop=112, mean=(114.7748, 107.7354, 99.4750))  # the authors' "activitynet" mean


class ResNeXtBlock(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 2 * width
        self.conv1, self.bn1 = nn.Conv3d(inputs, width, 1, bias=False), nn.BatchNorm3d(width)
        self.conv2 = nn.Conv3d(width, width, 3, stride, padding=1, groups=CARDINALITY, bias=False)
        self.bn2 = nn.BatchNorm3d(width)
        self.conv3, self.bn3 = nn.Conv3d(width, outputs, 1, bias=False), nn.BatchNorm3d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if inputs != outputs:  # shortcut "B": a projection; "A", subsampling and zeros, is not what was published
            projection = nn.Conv3d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(projection, nn.BatchNorm3d(outputs))

    def forward(self, clips: Tensor) -> Tensor:
        inner = F.relu(self.bn1(self.conv1(clips)))
        inner = F.relu(self.bn2(self.conv2(inner)))
        return F.relu(self.bn3(self.conv3(inner)) + self.downsample(clips))


class ResNeXt3d(Residual3d):
    def __init__(self, blocks: Sequence[int]) -> None:
        super().__init__()
        self.conv1 = nn.Conv3d(3, 64, 7, stride=(1, 2, 2), padding=3, bias=False)
        self.bn1 = nn.BatchNorm3d(64)
        self.add_stages(ResNeXtBlock, blocks, widths=WIDTHS, expansion=2)

    def stem(self, clips: Tensor) -> Tensor:
        return F.max_pool3d(F.relu(self.bn1(self.conv1(clips))), 3, stride=2, padding=1)


def map_published(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state of `ResNeXt3d` from the authors' checkpoint, whose names begin with `module.`."""
    return without_prefix(state, "module.")


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = 16,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
) -> WindowExtractor:
    require_network(network, list(NETWORKS))
    require_outputs(outputs, known=OUTPUTS, network=network)
    model = make_network(network, lambda: ResNeXt3d(NETWORKS[network]), weights)
    return WindowExtractor(model, preparation=PREPARATION.by(resize), outputs=outputs, window=window, device=device)
