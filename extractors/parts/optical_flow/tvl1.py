"""TV-L1 (Zach et al. 2007) as OpenCV's contrib modules compute it, on 8-bit grey pictures: I3D was trained on it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType

import numpy as np
import torch
from torch import Tensor

from extractors.base import MissingPackageError
from extractors.parts.optical_flow.base import FlowMethod

# OpenCV's defaults in its own order, stated so that another default in a later OpenCV changes nothing
SETTINGS = {
    "tau": 0.25,
    "lambda": 0.15,
    "theta": 0.3,
    "scales": 5,
    "warps": 5,
    "epsilon": 0.01,
    "inner_iterations": 30,
    "outer_iterations": 10,
    "scale_step": 0.8,
    "gamma": 0.0,
    "median_filtering": 5,
}


def opencv() -> ModuleType:
    """OpenCV with its contrib modules; plain OpenCV has no `optflow`."""
    missing = MissingPackageError("TV-L1 optical flow", package="opencv-contrib-python-headless", extra="flow")
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError as error:
        raise missing from error
    if not hasattr(cv2, "optflow"):
        raise missing
    return cv2


class Tvl1(FlowMethod):
    has_weights = False

    def __init__(self, name: str, *, weights: Mapping[str, Tensor] | None, device: str) -> None:  # noqa: ARG002 - it has no weights, and runs on the CPU
        cv2 = opencv()
        cv2.setNumThreads(1)  # like torch: workers share the cores, and their number changes no bit
        self.solver = cv2.optflow.DualTVL1OpticalFlow_create(*SETTINGS.values())
        self.grey = lambda picture: cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        self.facts = {"flow": name, "flow_library": f"opencv {cv2.__version__}", **SETTINGS}

    def between(self, first: Tensor, second: Tensor) -> Tensor:
        pairs = zip(self._greys(first), self._greys(second), strict=True)
        flows = np.stack([self.solver.calc(one, other, None) for one, other in pairs])  # (N, H, W, 2)
        return torch.from_numpy(flows).permute(0, 3, 1, 2).to(first.device)

    def _greys(self, pictures: Tensor) -> list[np.ndarray]:
        bytes_ = (pictures * 255).round().clamp(0, 255).byte().permute(0, 2, 3, 1).contiguous()
        return [self.grey(picture) for picture in bytes_.cpu().numpy()]
