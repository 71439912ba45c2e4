"""Clips with very few frames a second: rules that count frames mean other spans of time than on ordinary video."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.core import printable
from pipeline.index import VideoRow
from pipeline.params import Sampling

SLOW = 5.0  # frames a second; networks and papers' settings are for 24 to 30


def slow_video_warning(name: str, sampling: Sampling, rows: Iterable[VideoRow]) -> str:
    """What the sampling of the extractor `name` takes of slow clips; nothing where it does what one expects."""
    every = list(rows)
    slow = sorted((row for row in every if 0 < row.fps < SLOW), key=lambda row: (row.fps, row.id))
    effect = _effect(sampling, slow[0].fps) if slow else ""
    if not effect:
        return ""
    return (
        f"{name}: {len(slow)} of {len(every)} videos have fewer than {SLOW:g} frames a second"
        f" ('{printable(slow[0].id)}' has {slow[0].fps:.2g}): {effect}"
    )


def _effect(sampling: Sampling, fps: float) -> str:
    step, window = sampling.every or 1, sampling.window
    if sampling.hop is not None or sampling.count is not None:
        return ""  # sound, and a number of frames that is the same of any clip
    if sampling.fps is not None:
        return f"{sampling.fps:g} frames a second are asked for: its frames repeat" if sampling.fps > fps else ""
    if window is None:
        return f"one frame in {step / fps:.3g} s is taken" if step > 1 else ""
    return f"a window of {window} frames is {window * step / fps:.3g} s of it"
