"""What every flow method promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class FlowMethod(ABC):
    has_weights: bool
    facts: Mapping[str, Any]  # all that decides the flow beside its weights; part of the fingerprint

    @abstractmethod
    def __init__(self, name: str, *, weights: Mapping[str, Tensor] | None, device: str) -> None: ...

    @abstractmethod
    def between(self, first: Tensor, second: Tensor) -> Tensor:
        """(N, 3, H, W) pictures from 0 to 1 -> (N, 2, H, W) pixels."""

    @torch.inference_mode()
    def __call__(self, frames: Tensor) -> Tensor:
        """(T + 1, H, W, 3) -> (T, H, W, 2)."""
        if len(frames) < 2:
            raise ValueError(f"optical flow needs two frames or more, got {len(frames)}")
        scaled = frames.float() / 255 if frames.dtype == torch.uint8 else frames.float()
        pictures = scaled.permute(0, 3, 1, 2)  # (T + 1, 3, H, W)
        return self.between(pictures[:-1], pictures[1:]).permute(0, 2, 3, 1)
