"""Regions of single frames: what the families of one detector share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from extractors.base import Extractor, Takes
from extractors.parts.detection.base import Detector
from extractors.parts.detection.selection import stack_regions, stacked_shapes


class RegionExtractor(Extractor):
    takes: Takes = "frames"

    def __init__(self, detector: Detector, *, outputs: Sequence[str], regions: int, device: str) -> None:
        self.device = torch.device(device)
        self.detector = detector.eval().to(self.device)
        self.regions = regions
        self.preprocessing = detector.preprocessing
        shapes = stacked_shapes(detector.taps, regions=regions)
        self.outputs = {name: shapes[name] for name in outputs}

    def prepare(self, frame: np.ndarray) -> Tensor:
        """The frame itself: boxes are wanted in its own pixels, so resizing is the detector's business."""
        return torch.from_numpy(frame).permute(2, 0, 1).contiguous()  # (3, H, W) uint8

    @torch.inference_mode()
    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, 3, H, W); frame by frame, since a frame's regions are already a batch of hundreds."""
        frames = [self.detector(picture, self.regions) for picture in batch.to(self.device)]
        stacked = stack_regions(frames, regions=self.regions, taps=self.detector.taps)
        return {name: stacked[name] for name in self.outputs}
