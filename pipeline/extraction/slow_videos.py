"""Clips with very few frames a second: rules that count frames mean other spans of time than on ordinary video."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.core import printable
from pipeline.index import VideoRow
from pipeline.params import Sampling

SLOW = 5.0  # frames a second; networks and papers' settings are for 24 to 30


def slow_video_warning(name: str, sampling: Sampling, rows: Iterable[VideoRow]) -> str:
    """What the sampling of the extractor `name` takes of slow clips; nothing where it does what one expects."""
    if not _effect(sampling, min(SLOW, sampling.fps or SLOW) / 2):
        return ""  # whatever the rate
    count, slow = 0, list[tuple[float, str]]()
    for row in rows:
        count += 1
        if 0 < row.fps < SLOW:
            slow.append((row.fps, row.id))
    fps, video_id = min(slow, default=(0.0, ""))
    effect = _effect(sampling, fps) if slow else ""
    if not effect:
        return ""
    return (
        f"{name}: {len(slow)} of {count} videos have fewer than {SLOW:g} frames a second"
        f" ('{printable(video_id)}' has {fps:.2g}): {effect}"
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
