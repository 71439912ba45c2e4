"""Which regions of a frame are kept: suppression class by class, the best scores, a fixed number, known padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torchvision.ops import box_iou

CLASS_NMS = 0.3
PADDING = {"classes": -1.0, "attributes": -1.0}  # class 0 is a class; every other padding is zero


def surviving_scores(boxes: Tensor, scores: Tensor, *, threshold: float, pixel: float = 0.0) -> Tensor:
    """(R, C) scores, zero where a better box of the same class overlaps by more than `threshold`.

    All classes at once: their orders differ, but the overlaps (R, R) are the same. `pixel` is added to the sides of
    a box: 1 where its right and lower edge name the last pixel, as in Caffe.
    """
    edges = boxes + boxes.new_tensor([0, 0, pixel, pixel])
    overlaps = box_iou(edges, edges) > threshold  # (R, R)
    order = scores.argsort(dim=0, descending=True, stable=True)  # (R, C)
    alive = torch.ones_like(scores, dtype=torch.bool)
    for chosen in order:  # (C,), the next best box of every class
        keeps = alive.gather(0, chosen[None])  # (1, C)
        alive &= ~(overlaps[:, chosen] & keeps)
        alive.scatter_(0, chosen[None], keeps)  # a box overlaps itself
    return torch.where(alive, scores, 0)


def best_regions(boxes: Tensor, scores: Tensor, *, count: int, pixel: float = 0.0) -> tuple[Tensor, Tensor]:
    """Bottom-up attention's rule with a fixed number: which of (R, 4) boxes with (R, C) scores, and their scores.

    A region's score is the best of those that survive suppression, each in its own class.
    """
    best = surviving_scores(boxes, scores, threshold=CLASS_NMS, pixel=pixel).amax(1)
    kept = best_first(best, count=count)
    return kept, best[kept]


def best_first(scores: Tensor, *, count: int) -> Tensor:
    """Indices of the `count` highest scores; equal ones stay in the order given."""
    return scores.argsort(descending=True, stable=True)[:count]


def stack_regions(
    frames: Sequence[Mapping[str, Tensor]], *, regions: int, taps: Mapping[str, tuple[int, ...]]
) -> dict[str, Tensor]:
    """Frames of at most `regions` regions each as (B, regions, ...), and `count`: how many of them are real."""
    stacked = {name: torch.stack([_padded(frame[name], regions, name) for frame in frames]) for name in taps}
    return stacked | {"count": torch.tensor([float(len(frame["boxes"])) for frame in frames])}


def stacked_shapes(taps: Mapping[str, tuple[int, ...]], *, regions: int) -> dict[str, tuple[int, ...]]:
    return {name: (regions, *shape) for name, shape in taps.items()} | {"count": ()}


def _padded(values: Tensor, regions: int, name: str) -> Tensor:
    full = values.new_full((regions, *values.shape[1:]), PADDING.get(name, 0.0), dtype=torch.float32)
    full[: len(values)] = values
    return full
