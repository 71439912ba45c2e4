"""Features as they are kept: in the type that was asked for, and numbers all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pipeline.store import Failure, VideoFeatures, not_finite


def as_dtype(arrays: Mapping[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """What float16 cannot hold becomes infinity, which `unusable` tells of."""
    with np.errstate(over="ignore"):
        return {name: array.astype(dtype) for name, array in arrays.items()}


def unusable(video: VideoFeatures) -> Failure | None:
    """Why a video's features are not kept: a model that reads NaN or infinity learns nothing from then on."""
    found = not_finite(video)
    if not found:
        return None
    half = any(array.dtype == np.float16 for array in video.values())
    choose = "float16 ends at 65504: set dtype: float32" if half else "choose other weights, or precision: float32"
    return Failure("not-finite", f"{found}; {choose}")
