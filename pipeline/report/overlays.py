"""Attention maps as the page draws them: parts of a frame as shares of its sides, weights in thousandths.

`views` turns the arrays of `pipeline.predictions.attention_maps` into plain lists; frames are numbers of pictures in
the video's film.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pipeline.predictions import AttentionMaps

BOXES = 3  # of a frame: the strongest; the others would hide the picture

FramePart = tuple[float, float, float, float]  # left, top, right, bottom, as shares of the frame
FrameSize = tuple[int, int]  # width, height in pixels


def seen_part(preprocessing: Mapping[str, Any], size: FrameSize) -> FramePart:
    """What a network saw of a frame: preprocessing cuts the middle out of most pictures."""
    resized = _resized(preprocessing, size)
    if resized is None:
        return (0.0, 0.0, 1.0, 1.0)
    crop = preprocessing.get("centre_crop", preprocessing.get("crop"))
    if isinstance(crop, list | tuple):  # C3D: the top left corner of its square, in (171, 128)
        top, left = crop
        side = min(resized) - 2 * top if top else min(resized)
        return _part(left, top, side, resized)
    if not isinstance(crop, int):
        return (0.0, 0.0, 1.0, 1.0)
    return _part(round((resized[0] - crop) / 2), round((resized[1] - crop) / 2), crop, resized)


def _part(left: float, top: float, side: float, size: FrameSize) -> FramePart:
    edges = (left / size[0], top / size[1], (left + side) / size[0], (top + side) / size[1])
    return tuple(round(min(1.0, max(0.0, edge)), 4) for edge in edges)  # type: ignore[return-value]


def _resized(preprocessing: Mapping[str, Any], size: FrameSize) -> FrameSize | None:
    wanted = preprocessing.get("resize_short_side", preprocessing.get("resize"))
    if isinstance(wanted, list | tuple) and len(wanted) == 2:
        return int(wanted[1]), int(wanted[0])  # height and width are given, whatever the picture's shape
    if not isinstance(wanted, int):
        return None
    short = min(size)
    return int(size[0] * wanted / short), int(size[1] * wanted / short)


def wanted_frames(looks: AttentionMaps, *, frames: int) -> list[int]:
    """The frames on which something will be drawn, each once and in order."""
    wanted: set[int] = set()
    if "cell_frames" in looks:
        wanted |= set(looks["cell_frames"].tolist())
    if "box_rows" in looks:
        wanted |= set(looks["box_frames"][looks["box_rows"]].flatten().tolist())
    return sorted(number for number in wanted if 0 <= number < frames)


def views(
    looks: AttentionMaps,
    *,
    facts: Mapping[str, Any],
    size: FrameSize,
    duration: float,
    picture: Callable[[int], int],
    moment: Callable[[float], int],
) -> dict[str, Any]:
    """`picture`: frame -> number of a picture in the film; `moment`: second -> the same."""
    found: dict[str, Any] = {}
    if "time" in looks:
        found["time"] = _thousandths(looks["time"])
        found["moments"] = _moments(looks["times"], duration).round(3).tolist()
        found["edges"] = row_edges(looks["times"], duration=duration)
    if "refocus" in looks and "times" in looks:
        found["refocus"] = _refocus(looks["refocus"], _moments(looks["times"], duration), moment)
    for name, kind in (("cells", "place"), ("shared", "shared")):
        if name in looks:
            cut = facts.get("cut", {}).get(kind, {}).get("preprocessing", {})
            found[name] = {"maps": _thousandths(looks[name]), "part": seen_part(cut, size)}
    if "cells" in looks:
        found["cells"]["frames"] = [picture(int(number)) for number in looks["cell_frames"]]
    if "regions" in looks:
        found["regions"] = _regions(looks, size, picture)
    for name in ("layer", "view", "slot"):
        if name in looks:
            names = facts.get("columns", {}).get(name) or [str(n) for n in range(looks[name].shape[1])]
            found[name] = {"names": names, "weights": _thousandths(looks[name])}
    return found


def _thousandths(weights: np.ndarray) -> Any:
    return np.rint(np.nan_to_num(weights.astype(np.float64)) * 1000).astype(int).tolist()


def _moments(times: np.ndarray, duration: float) -> np.ndarray:
    """The middle of each row (T,); rows whose times nobody wrote down share the video evenly."""
    middles = times.astype(np.float64).mean(1)
    return middles if np.isfinite(middles).all() else (np.arange(len(times)) + 0.5) * duration / max(1, len(times))


def row_edges(times: np.ndarray, *, duration: float) -> list[float]:
    """Where each row begins to be drawn, and the end: rows are samples of the time around them."""
    middles = _moments(times, duration)
    between = (middles[1:] + middles[:-1]) / 2
    end = max(duration, float(middles[-1])) if len(middles) else duration
    return [round(edge, 3) for edge in (0.0, *between.tolist(), end)]


def _refocus(weights: np.ndarray, moments: np.ndarray, moment: Callable[[float], int]) -> dict[str, Any]:
    """The key frame before and after: the first reading begins in the middle, the second where it points at."""
    before, after = len(moments) // 2, int(weights.argmax())
    seconds = [float(moments[row]) for row in (before, after)]
    return {
        "weights": _thousandths(weights),
        "rows": [before, after],
        "seconds": [round(second, 2) for second in seconds],
        "frames": [moment(second) for second in seconds],
    }


def _regions(looks: AttentionMaps, size: FrameSize, picture: Callable[[int], int]) -> list[list[dict[str, Any]]]:
    """word -> frame that it chose -> its strongest boxes."""
    scale = np.array([*size, *size], dtype=np.float64)
    shares = (looks["boxes"] / scale).clip(0, 1).round(4)  # (M, N, 4)
    found = []
    for weights, rows in zip(looks["regions"], looks["box_rows"], strict=True):  # (K, N), (K,)
        frames = []
        for row, each in zip(rows.tolist(), weights, strict=True):
            best = [number for number in np.argsort(-each, kind="stable")[:BOXES].tolist() if each[number] > 0]
            boxes = [[*shares[row, number].tolist(), round(float(each[number]) * 1000)] for number in best]
            if boxes:
                frames.append({"frame": picture(int(looks["box_frames"][row])), "boxes": boxes})
        found.append(frames)
    return found
