"""The rows of other videos that are most like a row, by the cosine of their vectors.

A store of 10,000 videos has gigabytes of rows, so it is read once and each video is kept as the mean of its rows, a
unit vector; the videos whose means are nearest to the row are then compared row by row. A video that is like it in one
row among many different ones may be missed, and the page says so.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.browsing.pages import Mark, mark_of
from pipeline.core import InputError
from pipeline.store import MANIFEST, Store, open_store

Floats = NDArray[np.float32]

SHOWN = 12
CANDIDATES = 60  # videos whose rows are compared
NUMBERS = 50_000_000  # of all means together: 200 MB; longer vectors are projected at random into fewer dimensions
STORES = 2  # whose means are kept
WAITING = 8  # who wait for a store that is read; all others would keep the server's threads from other pages
_once = threading.Lock()  # two tabs shall not read a store at once, each for itself
_room = threading.BoundedSemaphore(WAITING)


@dataclass(frozen=True)
class Neighbour:
    video: str
    row: int
    likeness: float
    start: float | None
    end: float | None


@dataclass(frozen=True)
class Means:
    videos: Sequence[str]
    vectors: Floats  # (videos, dimensions), of length one; zeros of what has no direction
    projection: Floats | None  # (length of a row, dimensions)

    def compared(self, vector: Floats) -> Floats:
        return self.vectors @ _unit(vector if self.projection is None else vector @ self.projection)


def nearest_rows(store: Store, video: str, *, output: str, row: int, count: int = SHOWN) -> list[Neighbour]:
    """The best row of each of the most alike videos, most alike first; the video itself is not among them."""
    table = content(store[video][output])
    if not 0 <= row < len(table):
        raise InputError(f"{video} has {len(table)} rows of {output}, and none of number {row}")
    one = _unit(table[row])
    means = _known_means(store, output)
    order = np.argsort(-means.compared(table[row]), kind="stable")[: CANDIDATES + 1]
    others = [means.videos[place] for place in order if means.videos[place] != video]
    found = [_best_row(store, other, one, output) for other in others]
    return sorted(found, key=lambda each: (-each.likeness, each.video))[:count]


def _known_means(store: Store, output: str) -> Means:
    if not _room.acquire(blocking=False):
        raise InputError("a store is still being read, and others wait for it", hint="ask again in a minute")
    try:
        with _once:
            return _means(store.folder, output, mark_of(store.folder / MANIFEST))
    finally:
        _room.release()


def content(table: np.ndarray) -> Floats:
    """(R, D) of (R, ..., D): of a map or of regions the mean, for what is alike may be in another place."""
    flat = table.reshape(len(table), -1, table.shape[-1] if table.ndim > 1 else 1)
    return flat.mean(axis=1, dtype=np.float32)


@lru_cache(maxsize=STORES)
def _means(folder: Path, output: str, mark: Mark) -> Means:
    del mark  # of the manifest: a store that was made again is read again
    store = open_store(folder)
    videos = sorted(store)
    length = int(store.manifest["outputs"][output]["shape"][-1]) if store.manifest["outputs"][output]["shape"] else 1
    projection = _projection(length, max(1, NUMBERS // max(1, len(videos))))
    vectors = np.zeros((len(videos), length if projection is None else projection.shape[1]), np.float32)
    for place, video in enumerate(videos):
        rows = content(store[video][output])
        if len(rows):
            mean = rows.mean(axis=0)
            vectors[place] = _unit(mean if projection is None else mean @ projection)
    return Means(videos, vectors, projection)


def _projection(length: int, most: int) -> Floats | None:
    """At random, which keeps angles about as they are; candidates need no more."""
    if length <= most:
        return None
    return np.random.default_rng(0).standard_normal((length, most), dtype=np.float32)


def _best_row(store: Store, video: str, one: Floats, output: str) -> Neighbour:
    features = store[video]
    rows = content(features[output])
    norms = np.linalg.norm(rows, axis=1)
    cosines = np.divide(rows @ one, norms, out=np.full(len(rows), -1.0, np.float32), where=norms > 0)
    best = int(cosines.argmax()) if len(cosines) else 0
    start, end = (
        float(column[best]) if len(rows) else float("nan") for column in (features.rows.start, features.rows.end)
    )
    likeness = float(cosines[best]) if len(cosines) else -1.0
    return Neighbour(video, best, likeness, None if np.isnan(start) else start, None if np.isnan(end) else end)


def _unit(vector: Floats) -> Floats:
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm and np.isfinite(norm) else np.zeros_like(vector)
