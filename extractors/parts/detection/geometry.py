"""Pictures and boxes between the original pixels and a network's input: one scale rule, one resize, one mapping."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import roi_align
from torchvision.transforms.v2 import functional as transforms


def limited_scale(height: int, width: int, *, short_side: int, long_side: int) -> float:
    """The short side becomes `short_side`, unless the long one would then exceed `long_side`."""
    scale = short_side / min(height, width)
    return long_side / max(height, width) if round(scale * max(height, width)) > long_side else scale


def resize_exactly(picture: Tensor, *, scale: float) -> Tensor:
    """(C, H, W) float by exactly `scale`, bilinear without antialiasing: OpenCV's INTER_LINEAR with fx and fy.

    Resizing to a rounded size instead would stretch the picture by up to half a pixel.
    """
    places = [_places(size, scale).to(picture) for size in picture.shape[1:]]
    rows, columns = torch.meshgrid(*places, indexing="ij")  # (h, w)
    grid = torch.stack([columns, rows], -1)[None]
    return F.grid_sample(picture[None], grid, padding_mode="border", align_corners=False)[0]


def _places(size: int, scale: float) -> Tensor:
    """Centres of the resized pixels, in -1..1 over the original ones."""
    resized = max(1, round(size * scale))
    return (2 * torch.arange(resized, dtype=torch.float64) + 1) / (scale * size) - 1


def fit_uncropped(pictures: Tensor, *, short_side: int, multiple: int = 32) -> tuple[Tensor, tuple[int, int]]:
    """(T, 3, H, W) uint8 pictures, whole: resized with antialiasing; and the size to pad them to.

    The long side is at most four times `short_side`, so that a frame of one line does not become a huge one.
    """
    height, width = pictures.shape[-2:]
    scale = limited_scale(height, width, short_side=short_side, long_side=4 * short_side)
    size = [max(1, round(height * scale)), max(1, round(width * scale))]
    resized = transforms.resize(pictures, size, antialias=True)
    return resized, (_ceil(size[0], multiple), _ceil(size[1], multiple))


def thicken(picture: Tensor, *, ratio: int = 32) -> Tensor:
    """(3, H, W), padded when it is thinner than 1 : `ratio`, of which resizing could leave nothing."""
    height, width = picture.shape[-2:]
    return pad_to(picture, (max(height, _ceil(width, ratio) // ratio), max(width, _ceil(height, ratio) // ratio)))


def pad_to(pictures: Tensor, size: tuple[int, int]) -> Tensor:
    """Zeros to the right and below, so that no pixel moves."""
    height, width = pictures.shape[-2:]
    return F.pad(pictures, (0, size[1] - width, 0, size[0] - height))


def clip_boxes(boxes: Tensor, *, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Boxes within the frame, and which of them still have an area."""
    limits = boxes.new_tensor([width, height, width, height])
    clipped = boxes.clamp(min=boxes.new_zeros(4), max=limits)
    return clipped, (clipped[:, 2:] > clipped[:, :2]).all(1)


def pool_regions(
    feature_map: Tensor, boxes: Tensor, *, frame: tuple[int, int], resized: tuple[int, int], padded: tuple[int, int]
) -> Tensor:
    """ROIAlign, 7x7, and its mean: (R, C) of boxes in the frame's own pixels on a (C, h, w) map of the padded input."""
    scale = boxes.new_tensor([resized[1] / frame[1], resized[0] / frame[0]]).repeat(2)
    to_cells = boxes.new_tensor([feature_map.shape[2] / padded[1], feature_map.shape[1] / padded[0]]).repeat(2)
    cells = boxes * scale * to_cells
    pooled = roi_align(feature_map[None], [cells], output_size=7, sampling_ratio=2, aligned=True)  # (R, C, 7, 7)
    return pooled.mean((2, 3))


def _ceil(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
