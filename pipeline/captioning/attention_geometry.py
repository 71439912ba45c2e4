"""Attention weights of a caption, laid on the rows, places and boxes that the stores know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from models.base import Captioner
from pipeline.captioner import FeatureSource
from pipeline.predictions import AttentionMaps


@dataclass(frozen=True)
class AttentionGeometry:
    """What the rows of a model's inputs are: the stores know the times, the grid and the boxes."""

    model: Captioner
    source: FeatureSource
    hidden: frozenset[str] = frozenset()  # attention of an ensemble that is over different things in its members

    def facts(self) -> dict[str, Any]:
        """What is the same for all videos: names of columns, and how frames were cut before a grid was laid on them."""
        cut = {}
        for kind in ("place", "shared"):
            name = self.model.attention_inputs.get(kind, "")
            if name in self.source.inputs:
                store = self.source.stores[self.source.inputs[name].slot]
                cut[kind] = {"store": store.folder.name, "preprocessing": store.fingerprint.get("preprocessing", {})}
        return {"columns": {name: [*names] for name, names in self.model.columns().items()}, "cut": cut}

    def attention_maps(self, video: str, attention: Mapping[str, np.ndarray]) -> AttentionMaps:
        """The weights (W, ...) that a caption was recorded with, in the common form."""
        shown = [kind for kind in attention if kind not in self.hidden and self._has_rows(video, kind)]
        attention = {kind: attention[kind] for kind in shown}
        found: AttentionMaps = {name: attention[name] for name in ("layer", "view", "slot") if name in attention}
        if "time" in attention:
            found |= self._time(video, attention["time"])
        if "refocus" in attention and len(attention["refocus"]):
            found["refocus"] = attention["refocus"][0]  # the same for every word
        for kind in [each for each in ("place", "shared") if each in attention]:
            found |= self._cells(video, kind, attention[kind], found.get("time"))
        if "region" in attention:
            found |= self._regions(video, attention, found.get("time"))
        return found

    def over(self, kind: str) -> object:
        """What weights are over: names, rows at certain times, or the places and boxes of one store."""
        if kind in (columns := self.model.columns()):
            return tuple(columns[kind])
        wanted = self.source.inputs.get(self.model.attention_inputs.get(kind, ""))
        if wanted is None:
            return None
        store = self.source.stores[wanted.slot]
        sampling = store.fingerprint.get("sampling")
        return str(sampling) if sampling and kind in ("time", "refocus") else (store.folder, wanted.tensor)

    def _has_rows(self, video: str, kind: str) -> bool:
        """A video that is shorter than a window may have none."""
        return kind not in self.model.attention_inputs or len(self._video(video, kind)[0].rows) > 0

    def _video(self, video: str, kind: str) -> tuple[Any, str]:
        wanted = self.source.inputs[self.model.attention_inputs[kind]]
        return self.source.stores[wanted.slot][video], wanted.tensor

    def _time(self, video: str, weights: np.ndarray) -> AttentionMaps:
        rows = self._video(video, "time")[0].rows
        return {"time": weights, "times": _seconds(rows)[: weights.shape[1]]}

    def _cells(self, video: str, kind: str, weights: np.ndarray, time: np.ndarray | None) -> AttentionMaps:
        stored, tensor = self._video(video, kind)
        rows, *steps, high, wide, _channels = stored[tensor].shape  # a window's map may have steps in time
        cells, deep = high * wide, prod(steps)
        if weights.shape[1] <= cells:  # one map for all rows: the word attends to its own frame
            maps = _padded(weights, cells).reshape(-1, high, wide)
            chosen = _chosen_rows(time, rows, words=len(weights))
            times: AttentionMaps = {}
        else:  # a map per row: its sum says when, its strongest row where
            every = _padded(weights, rows * deep * cells).reshape(-1, rows, deep, high, wide).sum(2)
            by_row = every.sum((2, 3))
            chosen = by_row.argmax(1)
            maps = every[np.arange(len(every)), chosen]
            times = {"time": by_row, "times": _seconds(stored.rows)}
        if kind == "shared":
            return {"shared": maps}
        return {"cells": maps, "cell_frames": _middles(stored.rows)[chosen]} | times

    def _regions(self, video: str, attention: Mapping[str, np.ndarray], time: np.ndarray | None) -> AttentionMaps:
        stored, tensor = self._video(video, "region")
        weights, rows, count = attention["region"], len(stored.rows), stored[tensor].shape[1]
        if "frame" in attention:  # the model says which frames it chose
            chosen = attention["frame"].argmax(-1)[:, : weights.shape[1]]  # (W, K)
        else:
            weights, chosen = _one_row(weights, time, rows=rows, count=count)
        found = {"regions": _padded(weights, count), "box_rows": chosen.astype(np.int32)}
        if "boxes" not in [*stored]:
            return {}  # there is nothing to draw
        return found | {"boxes": np.asarray(stored["boxes"], np.float32), "box_frames": _middles(stored.rows)}


def shared_geometry(each: Sequence[AttentionGeometry]) -> AttentionGeometry:
    """Of an ensemble: the first member's, without attention that means another thing in another member."""
    kinds = {kind for one in each for kind in (*one.model.attention_inputs, *one.model.columns())}
    return replace(each[0], hidden=frozenset(kind for kind in kinds if len({one.over(kind) for one in each}) > 1))


def _one_row(weights: np.ndarray, time: np.ndarray | None, *, rows: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Regions (W, 1, N) of one frame per word, (W, 1): the one that it chose, or the one with most weight."""
    if weights.ndim == 2 and time is not None:  # those of the frame that the word chose; else of all frames in a line
        return weights[:, None], _chosen_rows(time, rows, words=len(weights))[:, None]
    every = weights if weights.ndim == 3 else _padded(weights, rows * count).reshape(-1, rows, count)
    alike = time is None and weights.ndim == 3  # each frame's regions sum to one: none of them stands out
    chosen = _chosen_rows(time, rows, words=len(every)) if alike or time is not None else every.sum(2).argmax(1)
    chosen = chosen.clip(max=every.shape[1] - 1)
    return every[np.arange(len(every)), chosen][:, None], chosen[:, None]


def _chosen_rows(time: np.ndarray | None, rows: int, *, words: int) -> np.ndarray:
    """The row that each word attends to most; of rows sampled otherwise the one at the same part of the video."""
    if time is None:
        return np.full(words, rows // 2)
    return (time.argmax(1) * rows + rows // 2) // max(1, time.shape[1]) if time.shape[1] != rows else time.argmax(1)


def _padded(weights: np.ndarray, length: int) -> np.ndarray:
    """Trailing zeros were cut off where the weights were recorded."""
    missing = length - weights.shape[-1]
    return np.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(0, missing)]) if missing > 0 else weights[..., :length]


def _seconds(rows: Any) -> np.ndarray:
    return np.stack([rows.start, rows.end], 1).astype(np.float32)  # (R, 2)


def _middles(rows: Any) -> np.ndarray:
    return ((rows.first_frame + rows.last_frame) // 2).astype(np.int32)  # (R,)
