"""ir-CSN (Tran et al. 2019): channel-separated networks, interaction-reduced, and how those who trained them prepare
frames. Batch normalisation has eps 1e-3."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from extractors.parts.residual3d import Residual3d
from extractors.parts.windows import Preparation

WIDTHS = (64, 128, 256, 512)  # of the depthwise convolutions; a block's output is four times as wide
NETWORKS = {"ir_csn50": (3, 4, 6, 3), "ir_csn101": (3, 4, 23, 3), "ir_csn152": (3, 8, 36, 3)}
PREPARATIONS = {
    "vmz": Preparation(resize=256, crop=224, mean=(110.201, 100.64, 95.9966), std=(58.1489, 56.4701, 55.3324)),
    "mmaction2": Preparation(resize=256, crop=224, mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)),
}


class ConvNorm3d(nn.Module):
    """Convolution without bias and batch normalisation."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int | tuple[int, int, int] = 1,
        *,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] = 0,
        groups: int = 1,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
        self.bn = nn.BatchNorm3d(outputs, eps=1e-3)

    def forward(self, clips: Tensor) -> Tensor:
        return self.bn(self.conv(clips))


class CsnBlock(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1 = ConvNorm3d(inputs, width)
        self.conv2 = ConvNorm3d(width, width, 3, stride=stride, padding=1, groups=width)  # each channel by itself
        self.conv3 = ConvNorm3d(width, outputs)
        self.downsample = ConvNorm3d(inputs, outputs, stride=stride) if inputs != outputs else nn.Identity()

    def forward(self, clips: Tensor) -> Tensor:
        inner = F.relu(self.conv2(F.relu(self.conv1(clips))))
        return F.relu(self.conv3(inner) + self.downsample(clips))


class Csn(Residual3d):
    def __init__(self, blocks: Sequence[int]) -> None:
        super().__init__()
        self.conv1 = ConvNorm3d(3, 64, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3))
        self.add_stages(CsnBlock, blocks, widths=WIDTHS, expansion=4)

    def stem(self, clips: Tensor) -> Tensor:
        return F.max_pool3d(F.relu(self.conv1(clips)), (1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1))
