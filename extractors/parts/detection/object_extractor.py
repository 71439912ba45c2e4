"""Objects of a segment of frames: boxes on its centre frame, pooled from two other networks' maps.

Both run on whole frames, so that no box is lost to a crop, and boxes follow the geometry of each network's own input.
Rows are padded to `regions`: `count` says how many are real, and a padded region has class -1 and zeros elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from extractors.base import Extractor, ExtractorError, Takes, require_outputs
from extractors.parts.detection.base import Detector
from extractors.parts.detection.maps import RegionMap, image_map, motion_map
from extractors.parts.detection.selection import stack_regions, stacked_shapes

NONE = "none"
DETECTED = ("boxes", "scores", "classes")


class ObjectExtractor(Extractor):
    takes: Takes = "clips"

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
        """(B, T, 3, H, W) -> one row per segment."""
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
