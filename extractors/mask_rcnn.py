"""Objects of a segment of frames: the boxes of a detector on its centre frame, pooled from two other networks' maps.

The recipe of the VATEX 2019 captioner: COCO's Mask R-CNN gives at most ten boxes every 32 frames; ROIAlign on the last
map of an image network (centre frame) and of a motion network (all frames) gives 2048 + 2048 numbers per box. Both run
on whole frames, so that no box is lost to a crop, and boxes follow the geometry of each network's own input.
The detector is an R-CNN of torchvision, or of detectron2's zoo where that is installed: `detectron2:NAME`.
Rows are padded to `regions`: `count` says how many are real, and a padded region has class -1 and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from extractors.base import RANDOM_SEED, Takes
from extractors.parts.detection.base import Detector
from extractors.parts.detection.coco import Detections, load_rcnn
from extractors.parts.detection.object_extractor import ObjectExtractor, maps_of, part, require_known
from extractors.parts.detection.zoo import open_detections

VERSION = 2
TAKES: Takes = "clips"
ZOO = "detectron2:"


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    device: str = "cpu",
    window: int = 32,  # noqa: ARG001 - any length will do
    regions: int = 10,
    image: str = "resnext101_32x8d",
    motion: str = "ir_csn152",
    short_side: int = 256,
    detector_short_side: int | None = None,
    detector_long_side: int | None = None,
    proposals: int | None = None,
    score_threshold: float = 0.05,
) -> ObjectExtractor:
    """`network` detects, `image` and `motion` are pooled from, or `none`; the weights have a prefix for each."""
    chosen = require_known(outputs, image=image, motion=motion, network=network)
    torch.manual_seed(RANDOM_SEED)
    sizes = {"short_side": detector_short_side, "long_side": detector_long_side, "proposals": proposals}
    detector = detector_of(network, part(weights, "detector"), score_threshold=score_threshold, **sizes)
    maps = maps_of(chosen, outputs=outputs, weights=weights, short_side=short_side)
    return ObjectExtractor(detector, maps, outputs=outputs, regions=regions, device=device)


def detector_of(
    network: str, weights: Mapping[str, Tensor] | None, *, score_threshold: float, **sizes: int | None
) -> Detector:
    if network.startswith(ZOO):
        name = network.removeprefix(ZOO)
        return open_detections(name, weights=weights, score_threshold=score_threshold, **sizes)
    return Detections(load_rcnn(network, weights=weights, box_score_thresh=score_threshold, **sizes))
