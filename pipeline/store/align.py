"""One time axis: the rows of several stores on common cells of seconds, with masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.errors import UsageError
from pipeline.store.features import Rows, VideoFeatures
from pipeline.store.reader import Store


@dataclass(frozen=True)
class Aligned:
    """Features of one video on a grid; where `mask` is False nothing is known and the numbers are zero."""

    edges: np.ndarray  # (G + 1,) seconds
    features: dict[str, dict[str, np.ndarray]]  # store -> tensor -> (G, ...)
    mask: dict[str, np.ndarray]  # store -> (G,) bool

    def __len__(self) -> int:
        return len(self.edges) - 1


def align(stores: Mapping[str, Store], grid: float | Sequence[float] | np.ndarray, *, video_id: str) -> Aligned:
    """A cell [a, b) of the grid gets the mean of the rows that overlap it, weighted by the seconds they share.

    `grid` is the edges of the cells, or the length of a cell: then cells run from 0 to the last row's end in any store.
    A store that lacks the video has a mask of False only.
    """
    videos = {name: store[video_id] for name, store in stores.items() if video_id in store}
    edges = _edges(grid, videos)
    weights = {name: overlaps(video.rows, edges) for name, video in videos.items()}
    features = {
        name: {tensor: _mean(array, weights[name]) for tensor, array in video.items()} for name, video in videos.items()
    }
    nothing = np.zeros(len(edges) - 1, bool)
    mask = {name: np.any(weights[name], axis=1) if name in weights else nothing.copy() for name in stores}
    return Aligned(edges, {name: features.get(name, _absent(stores[name], len(nothing))) for name in stores}, mask)


def overlaps(rows: Rows, edges: np.ndarray) -> np.ndarray:
    """The share of each row in each cell, (G, R): seconds in common; a row of no length counts where it lies.

    A row without anything valid, such as one of a missing sound track, has no share.
    """
    start, end = rows.start[None], rows.end[None]
    left, right = edges[:-1, None], edges[1:, None]
    shared = np.minimum(end, right) - np.maximum(start, left)  # NaN of an unknown time compares as False below
    instants = (start == end) & (left <= start) & (start < right)
    shares = np.where(shared > 0, shared, np.where(instants, np.finfo(np.float64).eps, 0.0))
    return shares * (rows.valid > 0)


def _mean(array: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)  # (G, R)
    mean = shares @ array.reshape(len(array), -1).astype(np.float64)
    return mean.reshape(len(weights), *array.shape[1:]).astype(np.float32)


def _edges(grid: float | Sequence[float] | np.ndarray, videos: Mapping[str, VideoFeatures]) -> np.ndarray:
    if np.ndim(grid):
        edges = np.asarray(grid, np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise UsageError(f"the edges of a grid must rise, and be two or more; got {list(edges.reshape(-1)[:5])}")
        return edges
    step = float(grid)  # type: ignore[arg-type]
    if not step > 0:
        raise UsageError(f"the cells of a grid must be longer than 0 seconds, not {step}")
    ends = np.concatenate([np.zeros(1), *(video.rows.end for video in videos.values())])
    cells = max(1, int(np.ceil(round(np.nanmax(ends) / step, 6))))  # rounded: 0.3 / 0.1 is three cells, not four
    return np.arange(cells + 1) * step


def _absent(store: Store, cells: int) -> dict[str, np.ndarray]:
    outputs = store.manifest["outputs"].items()
    return {name: np.zeros((cells, *facts["shape"]), np.float32) for name, facts in outputs}
