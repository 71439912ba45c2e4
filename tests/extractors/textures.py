"""Pictures that can be moved by any distance, whole pixels or not: sums of waves, drawn where they are asked for."""

from __future__ import annotations

import numpy as np
import torch

WAVES = 40


def moved(x: float, y: float, *, height: int = 128, width: int = 160, seed: int = 0) -> np.ndarray:
    """uint8 (height, width, 3): everything moved x to the right and y down; the finest wave is 8 pixels long."""
    numbers = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    picture = np.zeros((height, width, 3))
    for _ in range(WAVES):
        frequency, angle = numbers.uniform(0.01, 0.12), numbers.uniform(0, 2 * np.pi)
        along = np.cos(angle) * (columns - x) + np.sin(angle) * (rows - y)
        picture += np.sin(2 * np.pi * frequency * along[..., None] + numbers.uniform(0, 2 * np.pi, 3))
    return (np.clip(0.5 + picture / (3 * np.sqrt(2 * WAVES)), 0, 1) * 255).round().astype(np.uint8)


def clip(*places: tuple[float, float], **size: int) -> torch.Tensor:
    """uint8 (T, H, W, 3)."""
    return torch.from_numpy(np.stack([moved(x, y, **size) for x, y in places]))


def error(flow: torch.Tensor, x: float, y: float, *, margin: int = 16) -> float:
    """Mean distance in pixels to the true motion, away from the edges, where pixels come from nowhere."""
    inside = flow[margin:-margin, margin:-margin]
    return float((inside - torch.tensor([x, y])).norm(dim=-1).mean())
