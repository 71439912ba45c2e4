"""Image networks on single frames, by name: `timm:NAME`, `torchvision:NAME`, or just a name of torchvision.

Outputs: `pool`, the vector that the classifier reads; `grid`, the last map with channels last; and any module of the
network by its name, such as `layer3` or `features.17`. Preprocessing is that of the network's own configuration: for
torchvision that of the first published ("V1") weights, or of those that the option `published` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.transforms._presets import ImageClassification

from extractors.base import RANDOM_SEED, Takes
from extractors.parts.image_networks import named
from extractors.parts.network import NetworkExtractor
from extractors.parts.resizing import ResizeLibrary, ResizeSize, Resizing

VERSION = 3
TAKES: Takes = "frames"


class FrameExtractor(NetworkExtractor):
    takes = TAKES

    def __init__(
        self, network: nn.Module, transform: ImageClassification, *, device: str, resize: ResizeLibrary = "published"
    ) -> None:
        self.transform, self.size = transform, size_of(transform)
        # The networks were trained and judged on pictures of PIL, which torch's whole numbers follow to one level
        self.resizing = Resizing(interpolation=transform.interpolation.value).by(resize)
        self.preprocessing = {**describe(transform), **self.resizing.describe()}
        side = transform.crop_size[0]
        self.prepare_for_inference(network, row=(3, side, side), device=device)

    def prepare(self, frame: np.ndarray) -> Tensor:
        """(3, S, S) float32. The transform finds the picture at the right size, and leaves it so."""
        return self.transform(self.resizing(frame, self.size))

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
    module, transform = named(network, outputs=outputs, weights=weights, published=published)
    return FrameExtractor(module, transform, device=device, resize=resize)


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
