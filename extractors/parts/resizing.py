"""Frames of another size: by torch, OpenCV or PIL. They differ, so a store says which one it was.

torch and PIL look at every pixel that an output pixel covers ("antialiasing"); OpenCV looks at the two or four nearest
ones, and so does torch when told to. Large pictures that are made small therefore differ most.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Literal

import numpy as np
import PIL
import torch
from PIL import Image
from torch import Tensor
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as transforms

from extractors.base import MissingPackageError

ResizeLibrary = Literal["published", "torch", "opencv", "pil"]  # `published`: the family's own way
ResizeMethod = Literal["torch", "torch_float", "opencv", "pil"]
ResizeFilter = Literal["bilinear", "bicubic"]
ResizeSize = int | tuple[int, int]  # the short side, or (height, width) whatever the picture's shape


@dataclass(frozen=True, kw_only=True)
class Resizing:
    """One way to resize; called with a uint8 frame (H, W, 3), it gives uint8 (3, h, w)."""

    method: ResizeMethod = "torch"
    interpolation: ResizeFilter = "bilinear"
    antialias: bool = True

    def __call__(self, frame: np.ndarray, size: ResizeSize) -> Tensor:
        return METHODS[self.method](frame, output_size(frame, size), self)

    def by(self, library: ResizeLibrary) -> Resizing:
        """The same filter as a library has it."""
        return self if library == "published" else replace(self, method=library, antialias=library != "opencv")

    def describe(self) -> dict[str, Any]:
        """Facts of the fingerprint. Asked for when an extractor is built, so a missing OpenCV is found there."""
        names = {"torch": "torch uint8", "torch_float": "torch float, rounded", "pil": f"pil {PIL.__version__}"}
        library = names.get(self.method) or f"opencv {opencv().__version__}"
        return {"interpolation": self.interpolation, "antialias": self.antialias, "resize_library": library}


def output_size(frame: np.ndarray, size: ResizeSize) -> tuple[int, int]:
    """(height, width); a long side that is not whole is cut, as torchvision does."""
    if not isinstance(size, int):
        return size
    height, width = frame.shape[:2]
    return (size, int(size * width / height)) if height <= width else (int(size * height / width), size)


def _torch(frame: np.ndarray, size: tuple[int, int], how: Resizing) -> Tensor:
    """In whole numbers, as PIL computes."""
    mode = InterpolationMode(how.interpolation)
    return transforms.resize(torch.from_numpy(frame).permute(2, 0, 1), list(size), mode, antialias=True)


def _torch_float(frame: np.ndarray, size: tuple[int, int], how: Resizing) -> Tensor:
    """Rounded at the end, as torchvision's published transforms do with tensors.

    Without antialiasing torch would interpolate 8-bit pictures in whole numbers and be off by one in a fifth of the
    pixels.
    """
    mode, picture = InterpolationMode(how.interpolation), torch.from_numpy(frame).permute(2, 0, 1).float()
    return transforms.resize(picture, list(size), mode, antialias=how.antialias).round().clamp(0, 255).byte()


def _opencv(frame: np.ndarray, size: tuple[int, int], how: Resizing) -> Tensor:
    cv2 = opencv()
    mode = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}[how.interpolation]
    return torch.from_numpy(cv2.resize(frame, size[::-1], interpolation=mode)).permute(2, 0, 1)


def _pil(frame: np.ndarray, size: tuple[int, int], how: Resizing) -> Tensor:
    picture = Image.fromarray(frame).resize(size[::-1], Image.Resampling[how.interpolation.upper()])
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1)


def opencv() -> ModuleType:
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError as error:
        raise MissingPackageError("resize: opencv", package="opencv-contrib-python-headless", extra="flow") from error
    cv2.setNumThreads(1)  # like torch: workers share the cores
    return cv2


METHODS: dict[ResizeMethod, Callable[[np.ndarray, tuple[int, int], Resizing], Tensor]] = {
    "torch": _torch,
    "torch_float": _torch_float,
    "opencv": _opencv,
    "pil": _pil,
}
