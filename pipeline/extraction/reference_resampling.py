"""Sound at another rate as resampy 0.2's `kaiser_best` gives it, with which published numbers were made.

Features themselves are resampled by FFmpeg (docs/extractors.md, Sound); here its last digits would hide a fault.
"""

from __future__ import annotations

from functools import cache

import numpy as np

ZEROS = 64  # crossings of the filter on either side
STEPS = 512  # of the filter's table from one crossing to the next; between them it is interpolated, as resampy does
BETA = 14.769656459379492
ROLLOFF = 0.9475937167399596
BLOCK = 8192  # samples at once


def resampled(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """(n,) at `rate` -> (n * wanted / rate,), not to a lower rate: there the filter would be a wider one."""
    if wanted < rate:
        raise ValueError(f"{rate} Hz cannot become {wanted} Hz here; only a higher rate is known")
    padded = np.pad(samples.astype(np.float64), ZEROS)
    count = len(samples) * wanted // rate
    blocks = [np.arange(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK)]
    return np.concatenate([_at(padded, block * (rate / wanted)) for block in blocks]).astype(np.float32)


def _at(padded: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Of each moment, in samples of the original, the sum over its neighbours."""
    before = np.floor(moments).astype(np.int64)
    offsets = np.arange(1 - ZEROS, ZEROS + 1)  # (2 ZEROS,)
    distances = np.abs(moments[:, None] - (before[:, None] + offsets))  # (n, 2 ZEROS)
    weights = np.interp(distances, *_filter())
    return (padded[before[:, None] + offsets + ZEROS] * weights).sum(1)


@cache
def _filter() -> tuple[np.ndarray, np.ndarray]:
    """Distances in samples, and the windowed sinc there."""
    distances = np.linspace(0, ZEROS, ZEROS * STEPS + 1)
    window = np.kaiser(2 * ZEROS * STEPS + 1, BETA)[ZEROS * STEPS :]
    return distances, ROLLOFF * np.sinc(ROLLOFF * distances) * window
