"""Numbers that are none: where NaN and infinity stand in a video's features, in words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pipeline.core import printable


def not_finite(tensors: Mapping[str, np.ndarray]) -> str:
    """The first tensor with NaN or infinity: how many of how many, and the first row; empty if all are numbers."""
    for name, array in tensors.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return _told(name, array)
    return ""


def _told(name: str, array: np.ndarray) -> str:
    wrong = ~np.isfinite(array).reshape(len(array), -1)
    row = int(np.flatnonzero(wrong.any(1))[0])
    value = array.reshape(len(array), -1)[row][wrong[row]][0]
    where = f"first in row {row} ({value}), in {wrong.any(1).sum()} of {len(array)} rows"
    return f"'{printable(name)}': {wrong.sum()} of {array.size} numbers are NaN or infinite, {where}"
