"""Image networks on single frames, by name: `timm:NAME`, `torchvision:NAME`, or just a name of torchvision.

Outputs: `pool`, the vector that the classifier reads; `grid`, the last map with channels last; `embed` of CLIP, SigLIP
and PE-Core, the vector that is compared with a text; and any module of the network by its name, such as `layer3`,
`features.17` or `head`. Preprocessing is the publisher's: for torchvision that of the first published ("V1") weights,
or of those that the option `published` names; for timm that of the network's own configuration, or that of
`extractors.parts.publishers` where its publisher does something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms._presets import ImageClassification
from torchvision.transforms.v2.functional import center_crop

from extractors.base import RANDOM_SEED, Takes
from extractors.parts.image_networks import NamedNetwork, named
from extractors.parts.levels import normalised
from extractors.parts.network import NetworkExtractor
from extractors.parts.resizing import ResizeLibrary, ResizeSize, Resizing

VERSION = 3
TAKES: Takes = "frames"


class FrameExtractor(NetworkExtractor):
    takes = TAKES

    def __init__(self, found: NamedNetwork, *, device: str, resize: ResizeLibrary = "published") -> None:
        network, transform, method, facts = found
        self.transform, self.size = transform, size_of(transform)
        # Most networks were trained and judged on pictures of PIL, which torch's whole numbers follow to a level or two
        self.resizing = Resizing(method=method, interpolation=transform.interpolation.value).by(resize)
        self.preprocessing = {**describe(transform), **self.resizing.describe(), **facts}
        side = transform.crop_size[0]
        self.prepare_for_inference(network, row=(3, side, side), device=device)

    def prepare(self, frame: np.ndarray) -> Tensor:
        """(3, S, S) float32."""
        return self.finish(self.pixels(frame))

    def pixels(self, frame: np.ndarray) -> Tensor:
        return center_crop(self.resizing(frame, self.size), self.transform.crop_size)

    def finish(self, batch: Tensor) -> Tensor:
        return normalised(batch, scale=255, mean=self.transform.mean, std=self.transform.std)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        return self.network(batch.contiguous(memory_format=torch.channels_last))


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    published: str = "",
) -> FrameExtractor:
    """`published` is the library's name of weights, such as IMAGENET1K_V2, whose preprocessing is wanted."""
    torch.manual_seed(RANDOM_SEED)
    found = named(network, outputs=outputs, weights=weights, published=published)
    return FrameExtractor(found, device=device, resize=resize)


def map_published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of timm's inception_v4 from Cadene's file, which is older than the counters of batch normalisation and
    has a class for the background before the thousand; timm's own file needs nothing."""
    means = [name for name in state if name.endswith("running_mean")]
    counters = {name.replace("running_mean", "num_batches_tracked"): torch.tensor(0) for name in means}
    head = {name: tensor[-1000:] for name, tensor in state.items() if name.startswith("last_linear.")}
    return {**counters, **state, **head}


def size_of(transform: ImageClassification) -> ResizeSize:
    sizes = transform.resize_size
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def describe(transform: ImageClassification) -> dict[str, Any]:
    size = size_of(transform)
    return {
        **({"resize_short_side": size} if isinstance(size, int) else {"resize": list(size)}),
        "centre_crop": transform.crop_size[0],
        "scale": "0..1",
        "mean": list(transform.mean),
        "std": list(transform.std),
        "channels": "RGB",
    }
