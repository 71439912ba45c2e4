"""Features of frames or sound in memory: the same networks, sampling and batches as for a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from extractors.base import AudioExtractor
from pipeline.catalogue import lookahead_of
from pipeline.core import InputError, UsageError
from pipeline.decoding import Audio
from pipeline.extraction.audio_features import audio_rows
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.casting import as_dtype, unusable
from pipeline.extraction.forward_pass import forward
from pipeline.extraction.planned_rows import row_table
from pipeline.extraction.sampling import sample
from pipeline.params import Extract
from pipeline.store import Rows, VideoFeatures

Features = tuple[dict[str, np.ndarray], Rows]


def features_of_array(params: Extract, array: np.ndarray, *, rate: float | None, device: str) -> VideoFeatures:
    """`rate` is frames, or samples, a second."""
    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError(f"rate is {rate}; it must be a number above 0")
    extractor = extractor_of(params, device=device)
    if isinstance(extractor, AudioExtractor):
        arrays, rows = _of_sound(extractor, array, params, rate=rate)
    else:
        _require_frames(array)
        sampled = sample(
            params.sampling,
            frames=len(array),
            times=_times(len(array), params, rate=rate),
            lookahead=lookahead_of(params.family),
        )
        arrays, rows = forward(extractor, (array[n] for n in sampled.needed), rows=sampled), row_table(sampled)
        if rate is None:
            unknown = np.full(len(rows), np.nan)
            rows = replace(rows, start=unknown, end=unknown.copy())
    features = VideoFeatures(tensors=as_dtype(arrays, params.dtype), rows=rows)
    if why := unusable(features):
        raise InputError(f"the array has no features: {why}")
    return features


def _require_frames(array: np.ndarray) -> None:
    if array.dtype != np.uint8 or array.ndim != 4 or array.shape[-1] != 3 or 0 in array.shape:
        raise InputError(
            f"the array is {array.dtype} {array.shape}; this network takes frames: uint8 (T, H, W, 3), RGB, T above 0"
        )


def _times(frames: int, params: Extract, *, rate: float | None) -> np.ndarray:
    """Seconds at which frames are shown; their numbers where nobody knows."""
    if rate is None and params.sampling.fps is not None:
        raise UsageError(f"its sampling takes {params.sampling.fps:g} frames a second: give rate, the array's own")
    return np.arange(frames) / (rate or 1.0)


def _of_sound(extractor: AudioExtractor, array: np.ndarray, params: Extract, *, rate: float | None) -> Features:
    if array.dtype != np.float32 or array.ndim != 1:
        raise InputError(
            f"the array is {array.dtype} {array.shape}; this network takes mono sound: float32 (samples,), -1..1"
        )
    if rate != extractor.rate:
        given = "not given" if rate is None else f"{rate:g}"
        raise UsageError(f"rate is {given}; this network takes {extractor.rate} samples a second: resample to it first")
    duration = len(array) / extractor.rate
    sound = Audio(array, extractor.rate, "present", 0.0, duration)
    no_frames = np.empty(0)  # rows of sound alone stand for seconds and for no frames
    return audio_rows(extractor, sound, rule=params.sampling, times=no_frames, duration=duration)
