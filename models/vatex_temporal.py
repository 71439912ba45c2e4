"""VATEX 2019 (RUC), temporal branch: the decoder attends to segments, each its picture and its motion."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from models.base import Features, Input, Modality
from models.parts.layers import side_by_side
from models.parts.top_down import TopDown

SEGMENT = ("appearance", "motion")


class VatexTemporal(TopDown):
    inputs: ClassVar = {
        "appearance": Input("appearance", "pool"),
        "motion": Input("motion", "pool", optional=True),
        "sound": Input("sound", "pool", optional=True),
    }

    def memory_size(self, sizes: dict[str, int]) -> int:
        return sum(sizes[name] for name in SEGMENT if name in sizes)

    def memory(self, features: Features) -> Modality:
        return side_by_side([features[name] for name in SEGMENT if name in features])

    def attended(self, weights: Tensor) -> dict[str, Tensor]:
        return {"time": weights}


build = VatexTemporal
