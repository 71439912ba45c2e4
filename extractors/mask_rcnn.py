"""Objects of a segment of frames: the boxes of a detector on its centre frame, pooled from two other networks' maps.

The recipe of the VATEX 2019 captioner: COCO's Mask R-CNN gives at most ten boxes every 32 frames; ROIAlign on the last
map of an image network (centre frame) and of a motion network (all frames) gives 2048 + 2048 numbers a box. Both run on
whole frames, so that no box is lost to a crop, and boxes follow the geometry of each network's own input.
Rows are padded to `regions`: `count` says how many are real, and a padded region has class -1 and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from extractors.base import Extractor, Takes, UnknownOutputError
from extractors.detection.coco import Detections, load_rcnn
from extractors.detection.maps import RegionMap, image_map, motion_map
from extractors.detection.selection import stack_regions, stacked_shapes

VERSION = 1
TAKES: Takes = "clips"
RANDOM_SEED = 0  # untrained networks are at least the same untrained network everywhere
NONE = "none"


class ObjectExtractor(Extractor):
    takes = TAKES

    def __init__(
        self, detector: nn.Module, maps: Mapping[str, RegionMap], *, outputs: Sequence[str], regions: int, device: str
    ) -> None:
        self.device = torch.device(device)
        self.detector = detector.eval().to(self.device)
        self.maps = {name: network.eval().to(self.device) for name, network in maps.items()}
        self.regions = regions
        self.taps: dict[str, tuple[int, ...]] = detector.taps | taps_of(self.maps)  # type: ignore[operator]
        parts = {"detector": detector.preprocessing, **{name: each.preprocessing for name, each in self.maps.items()}}
        self.preprocessing: Mapping[str, Any] = parts
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
    taps = {name: (network.channels,) for name, network in maps.items()}
    return taps | ({"features": (sum(network.channels for network in maps.values()),)} if maps else {})


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
    score_threshold: float = 0.05,
) -> ObjectExtractor:
    """`network` detects; `image` and `motion` are pooled from, or `none`. Weights have a prefix for each of the three."""
    torch.manual_seed(RANDOM_SEED)
    sides = {"short_side": detector_short_side, "long_side": detector_long_side}
    model = load_rcnn(network, weights=part(weights, "detector"), box_score_thresh=score_threshold, **sides)
    maps = {}
    if image != NONE:
        maps["image"] = image_map(image, weights=part(weights, "image"), short_side=short_side)
    if motion != NONE:
        maps["motion"] = motion_map(motion, weights=part(weights, "motion"), short_side=short_side)
    detector = Detections(model)
    known = [*stacked_shapes(detector.taps | taps_of(maps), regions=regions)]
    unknown = [name for name in outputs if name not in known]
    if unknown:
        raise UnknownOutputError(network, unknown, known)
    return ObjectExtractor(detector, maps, outputs=outputs, regions=regions, device=device)


def part(weights: Mapping[str, Tensor] | None, name: str) -> dict[str, Tensor] | None:
    """One network's state out of a file of several; a file without prefixes is the detector's alone."""
    if weights is None:
        return None
    prefix = f"{name}."
    found = {key.removeprefix(prefix): tensor for key, tensor in weights.items() if key.startswith(prefix)}
    return found or dict(weights)
