"""Faster R-CNN on single frames: a fixed number of regions, each with box, score, class and feature.

Networks: `bottom_up_r101` (also r50, r152), the bottom-up attention detector of Visual Genome with 2048 features a
proposal; and `torchvision:NAME`, any R-CNN of torchvision, a stated substitute with 1024 features per proposal.
Rows are padded to `regions`: `count` says how many are real, and a padded region has class -1 and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from extractors.base import RANDOM_SEED, ExtractorError, Takes, load_weights, require_outputs
from extractors.parts.detection import bottom_up
from extractors.parts.detection.base import Detector
from extractors.parts.detection.coco import Proposals, load_rcnn
from extractors.parts.detection.published import map_published
from extractors.parts.detection.region_extractor import RegionExtractor
from extractors.parts.detection.selection import stacked_shapes

__all__ = ["map_published"]  # looked for here by the conversion of weights

VERSION = 2
TAKES: Takes = "frames"
OWN = "bottom_up_r"
TORCHVISION = "torchvision:"


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    device: str = "cpu",
    regions: int = 16,
    proposals: int | None = None,
    short_side: int | None = None,
    long_side: int | None = None,
) -> RegionExtractor:
    """`regions` a frame, chosen among `proposals`; sides and proposals that are not given are the published ones."""
    torch.manual_seed(RANDOM_SEED)
    given = {"proposals": proposals, "short_side": short_side, "long_side": long_side}
    if network.startswith(TORCHVISION):
        detector: Detector = Proposals(load_rcnn(network.removeprefix(TORCHVISION), weights=weights, **given))
    else:
        detector = _own(network, weights, {name: value for name, value in given.items() if value is not None})
    require_outputs(outputs, known=[*stacked_shapes(detector.taps, regions=regions)], network=network)
    return RegionExtractor(detector, outputs=outputs, regions=regions, device=device)


def _own(network: str, weights: Mapping[str, Tensor] | None, settings: Mapping[str, int]) -> Detector:
    depths = {f"{OWN}{depth}": blocks for depth, blocks in bottom_up.BLOCKS.items()}
    if network not in depths:
        raise ExtractorError(f"there is no network '{network}'; there are {', '.join(depths)} and {TORCHVISION}NAME")
    detector = bottom_up.BottomUp(blocks=depths[network], **settings)
    if weights is not None:
        load_weights(detector, weights, network=network)
    return detector.fold()
