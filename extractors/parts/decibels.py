"""Spectrograms in decibels below their loudest point, as two generations of kapre computed them for OpenL3.

`v0.3` is kapre 0.1.4, used by OpenL3 up to 0.3.1 and by torchopenl3: mel frames of a sound padded on both sides, power
spectra, HTK mel bands, then the root. `v0.4` is OpenL3's since: padded at the end, magnitudes, Slaney's mel scale.
"""

from __future__ import annotations

import math
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

RATE = 48_000
STEP = 242  # samples from frame to frame
FOURIER = {"linear": 512, "mel128": 2048, "mel256": 2048}
BANDS = {"mel128": 128, "mel256": 256}
GENERATIONS = ("v0.3", "v0.4")
FLOOR, RANGE = 1e-10, 80.0  # the smallest amplitude, and the decibels that are kept below the largest
KNEE, LINEAR_STEP = 1000.0, 200 / 3  # Slaney's scale: straight up to 1 kHz, 66.7 Hz per mel, ...
LOG_STEP = math.log(6.4) / 27  # ... then 27 mels for a factor of 6.4


def spectrogram(samples: Tensor, representation: str, *, generation: str) -> Tensor:
    """(48000,) float64 -> (bins, frames): 257 x 197, 128 x 199 or 256 x 199."""
    size = FOURIER[representation]
    if representation == "linear":
        return decibels(_spectra(samples, size).abs())
    missing = (math.ceil(len(samples) / STEP) - 1) * STEP + size - len(samples)
    before = missing // 2 if generation == "v0.3" else 0
    spectra = _spectra(F.pad(samples, (before, missing - before)), size).abs()
    htk = generation == "v0.3"
    bands = mel_matrix(BANDS[representation], size=size, htk=htk)  # (bands, bins)
    return decibels(torch.sqrt(bands @ spectra**2) if htk else bands @ spectra)


def _spectra(samples: Tensor, size: int) -> Tensor:
    """(bins, frames) of all frames that are whole."""
    frames = samples.unfold(0, size, STEP)
    return torch.fft.rfft(frames * torch.hann_window(size, periodic=True, dtype=samples.dtype)).T


def decibels(amplitudes: Tensor) -> Tensor:
    """Ten, not twenty, times the logarithm of an amplitude: so the networks know it."""
    levels = 10 * torch.log10(amplitudes.clamp(min=FLOOR))
    return (levels - levels.max()).clamp(min=-RANGE)


@cache
def mel_matrix(bands: int, *, size: int, htk: bool, rate: int = RATE) -> Tensor:
    """(bands, size / 2 + 1): triangles that are straight in Hz, each of area one (Slaney's norm)."""
    bins = torch.linspace(0, rate / 2, size // 2 + 1, dtype=torch.float64)
    edges = mel_edges(bands, highest=rate / 2, htk=htk)[:, None]
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    triangles = torch.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)).clamp(min=0)
    return triangles * 2 / (high - low)


def mel_edges(bands: int, *, highest: float, htk: bool) -> Tensor:
    """(bands + 2,) Hz, evenly spaced in mel from 0 to `highest`."""
    if htk:
        top = 2595 * math.log10(1 + highest / 700)
        return 700 * (10 ** (torch.linspace(0, top, bands + 2, dtype=torch.float64) / 2595) - 1)
    knee = KNEE / LINEAR_STEP
    mels = torch.linspace(0, knee + math.log(highest / KNEE) / LOG_STEP, bands + 2, dtype=torch.float64)
    return torch.where(mels < knee, mels * LINEAR_STEP, KNEE * torch.exp(LOG_STEP * (mels - knee)))
