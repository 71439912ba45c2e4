"""Objects of a segment of frames: the boxes of a detector on its centre frame, pooled from two other networks' maps.

The recipe of the VATEX 2019 captioner: COCO's Mask R-CNN gives at most ten boxes every 32 frames; ROIAlign on the last
map of an image network (centre frame) and of a motion network (all frames) gives 2048 + 2048 numbers a box. Both run on
whole frames, so that no box is lost to a crop, and boxes follow the geometry of each network's own input.
The detector is an R-CNN of torchvision, or of detectron2's zoo where that is installed: `detectron2:NAME`.
Rows are padded to `regions`: `count` says how many are real, and a padded region has class -1 and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from extractors.base import RANDOM_SEED, Extractor, ExtractorError, Takes, require_outputs
from extractors.parts.detection.base import Detector
from extractors.parts.detection.coco import Detections, load_rcnn
from extractors.parts.detection.maps import RegionMap, image_map, motion_map
from extractors.parts.detection.selection import stack_regions, stacked_shapes
from extractors.parts.detection.zoo import open_detections

VERSION = 2
TAKES: Takes = "clips"
NONE = "none"
ZOO = "detectron2:"
DETECTED = ("boxes", "scores", "classes")


class ObjectExtractor(Extractor):
    takes = TAKES

    def __init__(
        self, detector: Detector, maps: Mapping[str, RegionMap], *, outputs: Sequence[str], regions: int, device: str
    ) -> None:
        self.device = torch.device(device)
        self.detector = detector.eval().to(self.device)
        self.maps = {name: network.eval().to(self.device) for name, network in maps.items()}
        self.regions = regions
        self.taps = detector.taps | taps_of(self.maps)
        own = {name: network.preprocessing for name, network in self.maps.items()}
        self.preprocessing: Mapping[str, Any] = {"detector": detector.preprocessing, **own}
        shapes = stacked_shapes(self.taps, regions=regions)
        self.outputs = {name: shapes[name] for name in outputs}

    def prepare(self, frame: np.ndarray) -> Tensor:
        """The frame itself: three networks want it in three sizes."""
        return torch.from_numpy(frame).permute(2, 0, 1).contiguous()  # (3, H, W) uint8

    @torch.inference_mode()
    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, T, 3, H, W) -> one row a segment."""
        segments = [self._objects(clip) for clip in batch.to(self.device)]
        stacked = stack_regions(segments, regions=self.regions, taps=self.taps)
        return {name: stacked[name] for name in self.outputs}

    def _objects(self, clip: Tensor) -> dict[str, Tensor]:
        centre = clip[len(clip) // 2]
        found = self.detector(centre, self.regions)
        inputs = {"image": centre[None], "motion": clip}
        pooled = {name: network(inputs[name], found["boxes"]) for name, network in self.maps.items()}
        together = {"features": torch.cat([*pooled.values()], 1)} if pooled else {}
        return found | pooled | together


def taps_of(maps: Mapping[str, RegionMap]) -> dict[str, tuple[int, ...]]:
    channels = {name: network.channels for name, network in maps.items()}
    together = {"features": sum(channels.values())} if maps else {}
    return {name: (count,) for name, count in (channels | together).items()}


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


def require_known(outputs: Sequence[str], *, image: str, motion: str, network: str) -> dict[str, str]:
    """The networks to pool from, by the name of their output."""
    chosen = {name: each for name, each in {"image": image, "motion": motion}.items() if each != NONE}
    known = [*DETECTED, *chosen, *(["features"] if chosen else []), "count"]
    require_outputs(outputs, known=known, network=network)
    return chosen


def maps_of(
    chosen: Mapping[str, str], *, outputs: Sequence[str], weights: Mapping[str, Tensor] | None, short_side: int
) -> dict[str, RegionMap]:
    """Those that an output asks for."""
    return {
        name: make(chosen[name], weights=part(weights, name), short_side=short_side)
        for name, make in {"image": image_map, "motion": motion_map}.items()
        if name in chosen and {name, "features"} & {*outputs}
    }


def part(weights: Mapping[str, Tensor] | None, name: str) -> dict[str, Tensor] | None:
    """One network's state out of a file of several; a file without prefixes is the detector's alone."""
    if weights is None:
        return None
    prefix = f"{name}."
    found = {key.removeprefix(prefix): tensor for key, tensor in weights.items() if key.startswith(prefix)}
    if found or name == "detector":
        return found or dict(weights)
    raise ExtractorError(f"the weights have no part '{prefix}'; set the option {name} to '{NONE}', or use a bundle")
