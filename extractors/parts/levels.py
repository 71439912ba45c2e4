"""Grey levels as the numbers that a network was trained on: (level / scale - mean) / std.

Levels are whole numbers, a quarter of the bytes of what is made of them, so a device is sent levels and computes these
three steps itself. Each is one operation, which IEEE 754 rounds in one way, and their order is that of `prepare`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def normalised(levels: Tensor, *, scale: float, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """uint8 (..., 3, H, W) -> float32 on the same device.

    Divided by tensors: a GPU multiplies by the rounded inverse of a plain number.
    """
    scales, means, deviations = torch.tensor([[scale] * 3, list(mean), list(std)], device=levels.device)[
        ..., None, None
    ]
    return levels.float().div_(scales).sub_(means).div_(deviations)
