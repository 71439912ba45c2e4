"""VATEX 2019 (RUC), spatial branch: the decoder attends to all objects of all segments, one memory for both."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from models.base import Features, Input, Modality
from models.parts.layers import as_regions, real_regions
from models.parts.top_down import TopDown


class VatexSpatial(TopDown):
    inputs: ClassVar = {
        "appearance": Input("appearance", "pool"),
        "motion": Input("motion", "pool", optional=True),
        "sound": Input("sound", "pool", optional=True),
        # a picture's and a motion network's map, pooled in each box
        "objects": Input("regions", "features", axes=(2, 3, 4)),
    }
    attention_inputs: ClassVar = {"region": "objects"}

    def memory_size(self, sizes: dict[str, int]) -> int:
        return sizes["objects"]

    def memory(self, features: Features) -> Modality:
        objects = as_regions(features["objects"])  # (B, M, N, C)
        return Modality(objects.values.flatten(1, 2), real_regions(objects).flatten(1))

    def attended(self, weights: Tensor) -> dict[str, Tensor]:
        return {"region": weights}


build = VatexSpatial
