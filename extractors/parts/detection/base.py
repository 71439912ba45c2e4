"""What the region families expect of a detector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


class Detector(nn.Module):
    taps: dict[str, tuple[int, ...]]  # name -> shape of one region's value; `boxes` is always there
    preprocessing: Mapping[str, Any]

    @abstractmethod
    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        """At most `regions` regions of a uint8 RGB picture (3, H, W), the best first, boxes in its own pixels."""
