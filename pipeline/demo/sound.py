"""The sound tracks: half a dozen sounds that are easily told apart, made from sines and noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

RATE = 22_050
LOUDNESS = 0.11  # root mean square of an audible sound, full scale = 1
LOUDEST = 0.9  # its largest sample: short clicks stay below the loudness rather than clip
ROOM = 0.0008  # and of a quiet room
Wave = NDArray[np.float32]


def wave(audio: str, *, samples: int, seed: int) -> Wave | None:
    """The sound track, or None for a clip without one."""
    if audio == "none":
        return None
    if audio == "silence":
        return np.zeros(samples, np.float32)
    rng = np.random.default_rng(seed)
    room = ROOM * rng.standard_normal(samples)
    if audio == "room":
        return room.astype(np.float32)
    sound = _SOUNDS[audio](np.arange(samples) / RATE, rng)
    gain = min(LOUDNESS / np.sqrt(np.mean(sound**2)), LOUDEST / np.abs(sound).max())
    return (gain * sound + room).astype(np.float32)


def _strokes(t: NDArray, *, every: float, decay: float) -> tuple[NDArray, NDArray]:
    """Time since the last stroke, and a loudness that falls off after each."""
    since = t % every
    return since, np.exp(-since / decay) * np.clip(since / 0.002, 0, 1)


def _bell(t: NDArray, rng: np.random.Generator) -> NDArray:
    base = rng.uniform(620, 780)
    since, loud = _strokes(t, every=rng.uniform(0.9, 1.1), decay=0.45)
    partials = ((1.0, 1.0), (2.0, 0.6), (2.76, 0.5), (5.4, 0.3), (8.9, 0.15))
    return loud * sum(a * np.sin(2 * np.pi * base * r * since) * np.exp(-since * r) for r, a in partials)


def _beep(t: NDArray, rng: np.random.Generator) -> NDArray:
    on = (t % 0.4) < 0.18
    return on * np.sign(np.sin(2 * np.pi * rng.uniform(950, 1100) * t)) * 0.5


def _hum(t: NDArray, rng: np.random.Generator) -> NDArray:
    base = rng.uniform(85, 110)
    wobble = 1 + 0.15 * np.sin(2 * np.pi * 5 * t)
    return wobble * sum(np.sin(2 * np.pi * base * k * t) / k for k in (1, 2, 3, 4, 5))


def _tick(t: NDArray, rng: np.random.Generator) -> NDArray:
    _, loud = _strokes(t + 0.1, every=rng.uniform(0.23, 0.27), decay=0.012)
    return loud * rng.uniform(-1, 1, t.size)


def _whistle(t: NDArray, rng: np.random.Generator) -> NDArray:
    low, length = rng.uniform(700, 900), t[-1] + 1 / RATE
    octaves = 1.8  # from low to 3.5 times as high, evenly to the ear
    phase = low * length / (octaves * np.log(2)) * (2 ** (octaves * t / length))
    return np.sin(2 * np.pi * phase)


def _drum(t: NDArray, rng: np.random.Generator) -> NDArray:
    since, loud = _strokes(t, every=rng.uniform(0.46, 0.54), decay=0.09)
    falling = 90 * since + 3 * (1 - np.exp(-since / 0.03))  # the skin's pitch drops after the stroke
    return loud * (np.sin(2 * np.pi * falling) + 0.15 * rng.standard_normal(t.size) * np.exp(-since / 0.01))


_SOUNDS: dict[str, Callable[[NDArray, np.random.Generator], NDArray]] = {
    "bell": _bell,
    "beep": _beep,
    "hum": _hum,
    "tick": _tick,
    "whistle": _whistle,
    "drum": _drum,
}
