"""One file that holds all videos: an array for each, by its id, or a list of ids beside arrays of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import InputError

LAYOUTS = "either an array per video, called by its id, or one list of ids beside arrays with a row of numbers per id"


def videos_of_file(arrays: Mapping[str, np.ndarray], source: Path) -> dict[str, Any]:
    """Of stacks, what has another first dimension than the ids is about all, and is not read."""
    lists = [name for name, array in arrays.items() if array.ndim == 1 and array.dtype.kind in "US"]
    if not lists and _alike(arrays):
        return dict(arrays)
    if len(lists) != 1:
        raise InputError(
            f"'{source}' must have one list of video ids; arrays of text there: {', '.join(lists) or 'none'}",
            hint=LAYOUTS,
        )
    return _stacked(_texts(arrays[lists[0]]), {name: arrays[name] for name in arrays if name != lists[0]}, source)


def _alike(arrays: Mapping[str, np.ndarray]) -> bool:
    """Several of one kind of row. One alone may be a stack whose ids are missing."""
    return len(arrays) > 1 and len({(array.ndim, array.shape[1:], array.dtype) for array in arrays.values()}) == 1


def _texts(ids: np.ndarray) -> list[str]:
    return (np.char.decode(ids, "utf-8") if ids.dtype.kind == "S" else ids).tolist()


def _stacked(ids: list[str], arrays: Mapping[str, np.ndarray], source: Path) -> dict[str, Any]:
    stacks = {name: array for name, array in arrays.items() if array.ndim > 1 and len(array) == len(ids)}
    if len(set(ids)) != len(ids) or not stacks:
        raise InputError(f"'{source}': ids occur twice" if stacks else f"'{source}': no array has {len(ids)} videos")
    if len(stacks) == 1:
        return dict(zip(ids, *stacks.values(), strict=True))
    return {id_: {name: stack[row] for name, stack in stacks.items()} for row, id_ in enumerate(ids)}
