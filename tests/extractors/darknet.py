"""A file as darknet writes it, of numbers drawn for it."""

from __future__ import annotations

import numpy as np

# Convolutions of yolov4-tiny in the file's order: filters, channels, size of the kernel, whether normalised
HALVES = [
    size
    for width in (64, 128, 256)
    for size in (
        (width, width, 3, True),
        (width // 2, width // 2, 3, True),
        (width // 2, width // 2, 3, True),
        (width, width, 1, True),
    )
]
HEADS = [(512, 256, 3, True), (255, 512, 1, False), (128, 256, 1, True), (256, 384, 3, True), (255, 256, 1, False)]
CONVOLUTIONS = [(32, 3, 3, True), (64, 32, 3, True), *HALVES, (512, 512, 3, True), (256, 512, 1, True), *HEADS]
HEADER = np.array([0, 2, 5], "<i4").tobytes() + np.array([32_000_000], "<i8").tobytes()  # version, pictures seen


def drawn_numbers() -> np.ndarray:
    rng = np.random.default_rng(0)
    parts: list[np.ndarray] = []
    for filters, channels, size, normalised in CONVOLUTIONS:
        parts.append(rng.normal(0, 0.1, filters))
        if normalised:
            parts += [rng.uniform(0.8, 1.2, filters), rng.normal(0, 0.1, filters), rng.uniform(0.5, 1.5, filters)]
        fan = channels * size * size
        parts.append(rng.normal(0, (2 / fan) ** 0.5, filters * fan))
    return np.concatenate(parts).astype("<f4")


def drawn_file() -> bytes:
    return HEADER + drawn_numbers().tobytes()
