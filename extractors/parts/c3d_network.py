"""C3D (Tran et al. 2015), which two families run: on windows of 16 frames, and over a whole video.

Pooling is Caffe's: as many windows as it takes to reach the end, the first at 0, and no padding. Frames are BGR on the
scale 0..255 minus a mean clip, which is part of the weights: without it they do not load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from extractors.base import make_network, require_network
from extractors.parts.resizing import ResizeLibrary, Resizing
from extractors.parts.windows import StagedExtractor

WINDOW = 16  # frames of the mean clip, and of what fc6 can take
CROP, TOP, LEFT = 112, 8, 29  # of a picture of 128 x 171; a rounded centre would be 30
PICTURE = (128, 171)  # height, width
RESIZING = Resizing(method="torch_float", antialias=False)  # as OpenCV, within one grey level
# The convolutions before each pooling: (name, channels in, channels out)
Levels = Sequence[Sequence[tuple[str, int, int]]]
LEVELS: Levels = (
    (("conv1a", 3, 64),),
    (("conv2a", 64, 128),),
    (("conv3a", 128, 256), ("conv3b", 256, 256)),
    (("conv4a", 256, 512), ("conv4b", 512, 512)),
    (("conv5a", 512, 512), ("conv5b", 512, 512)),
)
POOLS = tuple(f"pool{level}" for level in range(1, 6))
OUTPUTS = (*POOLS, "fc6", "fc7")
CLASSES = {"c3d": 0, "c3d_sports1m": 487}  # of each network; features need none


class C3d(nn.Module):
    mean: Tensor

    def __init__(self, levels: Levels = LEVELS, *, classes: int = 0) -> None:
        super().__init__()
        self.levels = [[name for name, _, _ in level] for level in levels]
        sizes = [layer for level in levels for layer in level]
        self.layers = nn.ModuleDict(
            {name: nn.Conv3d(inputs, outputs, 3, padding=1) for name, inputs, outputs in sizes}
            | {"fc6": nn.Linear(sizes[-1][2] * 4 * 4, 4096), "fc7": nn.Linear(4096, 4096)}
            | ({"fc8": nn.Linear(4096, classes)} if classes else {})
        )
        self.register_buffer("mean", torch.zeros(3, WINDOW, *PICTURE))

    def forward(self, clips: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Layer after layer of BGR pixels (B, 3, T, 112, 112); fc6 and what follows are of 16 frames only."""
        clips = clips - self.mean_clip(clips.shape[2])
        for pool, convolutions in zip(POOLS, self.levels, strict=True):
            for name in convolutions:
                clips = F.relu(self.layers[name](clips), inplace=True)
            clips = caffe_pool(clips, depth=1 if pool == "pool1" else 2)
            yield pool, clips
        fc6 = F.relu(self.layers["fc6"](clips.flatten(1)))
        yield "fc6", fc6
        fc7 = F.relu(self.layers["fc7"](fc6))
        yield "fc7", fc7
        if "fc8" in self.layers:
            yield "logits", self.layers["fc8"](fc7)

    def mean_clip(self, frames: int) -> Tensor:
        """(3, T, 112, 112): the centre that the pictures are cropped to; frames after the 16th begin again."""
        step = torch.arange(frames, device=self.mean.device) % WINDOW
        return self.mean[:, step, TOP : TOP + CROP, LEFT : LEFT + CROP]


def caffe_pool(clips: Tensor, *, depth: int) -> Tensor:
    """7 -> 4 by rows {0,1}, {2,3}, {4,5}, {6}. Ports that pad by one have the same shape and other numbers."""
    size = (depth, 2, 2)
    return F.max_pool3d(clips, size, stride=size, ceil_mode=True)


def picture(frame: np.ndarray, *, direct: bool, resizing: Resizing = RESIZING) -> Tensor:
    """BGR pixels (3, 112, 112): the centre of a picture of 171 x 128, or the frame itself at 112 x 112."""
    bgr = resizing(frame, (CROP, CROP) if direct else PICTURE).flip(0).float()
    return bgr if direct else bgr[:, TOP : TOP + CROP, LEFT : LEFT + CROP]


def describe(*, direct: bool, resizing: Resizing) -> dict[str, Any]:
    return {
        "resize": [CROP, CROP] if direct else list(PICTURE),
        "crop": [0, 0] if direct else [TOP, LEFT],
        **resizing.describe(),
        "scale": "0..255",
        "mean": "clip of 16 frames in the weights, centre crop",
        "channels": "BGR",
    }


class C3dExtractor(StagedExtractor):
    def __init__(
        self,
        network: C3d,
        *,
        outputs: Sequence[str],
        window: int,
        device: str,
        direct: bool,
        resize: ResizeLibrary = "published",
    ) -> None:
        self.direct, self.resizing = direct, RESIZING.by(resize)
        self.preprocessing = describe(direct=direct, resizing=self.resizing)
        super().__init__(network, outputs=outputs, window=window, side=CROP, device=device)

    def prepare(self, frame: np.ndarray) -> Tensor:
        return picture(frame, direct=self.direct, resizing=self.resizing)


def load(network: str, weights: Mapping[str, Tensor] | None) -> C3d:
    require_network(network, list(CLASSES))
    return make_network(network, lambda: C3d(classes=CLASSES[network]), weights)
