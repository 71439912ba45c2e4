"""S3D as kylemin/S3D describes it, by that project's names and written down without torchvision's."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Channels of 1x1; 1x1 and 3x3; 1x1 and 3x3; 1x1 after the pooling
MIXED = [
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
]
POOLED = {2: ((3, 3, 3), (2, 2, 2), (1, 1, 1)), 7: ((2, 2, 2), (2, 2, 2), (0, 0, 0))}  # before these


class Basic(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, 1, bias=False)
        self.bn = nn.BatchNorm3d(outputs, eps=1e-3)

    def forward(self, clips: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(clips)))


class Separable(nn.Module):
    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1) -> None:
        super().__init__()
        half = size // 2
        self.conv_s = nn.Conv3d(inputs, outputs, (1, size, size), (1, stride, stride), (0, half, half), bias=False)
        self.bn_s = nn.BatchNorm3d(outputs, eps=1e-3)
        self.conv_t = nn.Conv3d(outputs, outputs, (size, 1, 1), (stride, 1, 1), (half, 0, 0), bias=False)
        self.bn_t = nn.BatchNorm3d(outputs, eps=1e-3)

    def forward(self, clips: Tensor) -> Tensor:
        return F.relu(self.bn_t(self.conv_t(F.relu(self.bn_s(self.conv_s(clips))))))


class Branches(nn.Module):
    def __init__(self, inputs: int, one: int, ra: int, a: int, rb: int, b: int, pooled: int) -> None:
        super().__init__()
        self.branch0 = nn.Sequential(Basic(inputs, one))
        self.branch1 = nn.Sequential(Basic(inputs, ra), Separable(ra, a, 3))
        self.branch2 = nn.Sequential(Basic(inputs, rb), Separable(rb, b, 3))
        self.branch3 = nn.Sequential(nn.MaxPool3d(3, 1, 1), Basic(inputs, pooled))

    def forward(self, clips: Tensor) -> Tensor:
        return torch.cat([self.branch0(clips), self.branch1(clips), self.branch2(clips), self.branch3(clips)], 1)


class S3d(nn.Module):
    """(B, 3, T, 224, 224) -> (B, 1024): pairs of neighbouring steps, averaged."""

    def __init__(self) -> None:
        super().__init__()
        flat = nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1))
        layers: list[nn.Module] = [Separable(3, 64, 7, 2), flat, Basic(64, 64), Separable(64, 192, 3), flat]
        inputs = 192
        for number, sizes in enumerate(MIXED):
            if number in POOLED:
                layers.append(nn.MaxPool3d(*POOLED[number]))
            layers.append(Branches(inputs, *sizes))
            inputs = sizes[0] + sizes[2] + sizes[4] + sizes[5]
        self.base = nn.Sequential(*layers)
        self.fc = nn.Sequential(nn.Conv3d(1024, 400, 1))

    def forward(self, clips: Tensor) -> Tensor:
        maps = self.base(clips)
        return F.avg_pool3d(maps, (2, *maps.shape[3:]), stride=1).mean((2, 3, 4))
