"""Attention maps: the attention per word, in one form for all models, so that pages need not know which recorded it.

Those of a video are named arrays; a model gives those that it has:

    time      (W, T)        weights of the rows, and `times` (T, 2), their seconds
    cells     (W, h, w)     places in the frame that the word attends to, and `cell_frames` (W,), the frame's number
    shared    (W, h, w)     places that are the same in all frames
    regions   (W, K, N)     boxes of the K frames that the word chose; `boxes` (M, N, 4), left, top, right, bottom in
                            pixels, `box_frames` (M,), their frames, and `box_rows` (W, K), which of the M were chosen
    refocus   (T,)          weights of VRE's key frame, once for the whole sentence
    layer, view, slot   (W, n)   weights of named things: `columns` in the predictions has the names
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from pipeline.core import UNSEALED, read_sealed_tensors, write_sealed_tensors

AttentionMaps = dict[str, np.ndarray]


def write_attention_maps(path: Path, maps: Mapping[str, AttentionMaps]) -> None:
    tensors = {f"{video}/{name}": array for video, each in maps.items() for name, array in halved(each).items()}
    arrays = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    write_sealed_tensors(path, save(arrays, metadata=UNSEALED))


def halved(maps: AttentionMaps) -> AttentionMaps:
    """Weights as float16: a page shows them, nothing computes with them."""
    return {name: array if _is_exact(name, array) else array.astype(np.float16) for name, array in maps.items()}


def _is_exact(name: str, array: np.ndarray) -> bool:
    return name in ("times", "boxes") or array.dtype.kind == "i"


def read_attention_maps(path: Path, *, stage: str = "caption") -> dict[str, AttentionMaps]:
    """What `write_attention_maps` wrote; nothing where no such file is."""
    if not path.is_file():
        return {}
    maps: dict[str, AttentionMaps] = {}
    for key, array in load(read_sealed_tensors(path, hint=f"dvc repro --force {stage}")).items():
        video, name = key.rsplit("/", 1)
        maps.setdefault(video, {})[name] = array.astype(np.float32) if array.dtype == np.float16 else array
    return maps


def attention_maps_path(predictions: Path) -> Path:
    """Beside `predictions/RUN.json`."""
    return predictions.with_suffix(".safetensors")


def without_attention(generated: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Generated captions as JSON; their attention maps are in the file beside it."""
    return {
        video: {"caption": each.caption, "log_prob": each.log_prob, "words": each.words}
        | ({} if each.first_reading is None else {"first_reading": each.first_reading})
        for video, each in generated.items()
    }
