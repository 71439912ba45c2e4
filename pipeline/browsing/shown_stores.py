"""Feature stores as pages show them: what each holds, its videos a page at a time, and the rows of one video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.browsing.pages import Paged, by_number, kept, paged
from pipeline.browsing.row_neighbours import content
from pipeline.core import FramescribeError, InputError, named, printable
from pipeline.store import FEATURES, MANIFEST, Store, open_store, whose_weights

VIDEOS = 50  # of a page
ROWS = 200  # of a video on a page
STATES = ("all", "present", "failed")


@dataclass(frozen=True, kw_only=True)
class StoreLine:
    name: str
    videos: int = 0
    failed: int = 0
    rows: int = 0
    bytes: int = 0
    tensors: tuple[str, ...] = ()  # "pool 1280 float32"
    untrained: bool = False
    whose: str = ""  # when the weights are the user's own
    problem: str = ""  # why nothing can be said


@dataclass(frozen=True)
class StoredVideo:
    id: str
    rows: int
    failure: str  # why it has none; empty of one that has


@dataclass(frozen=True)
class ShownRow:
    number: int
    start: float | None  # seconds; None where nobody wrote them down
    end: float | None
    first_frame: int  # -1 when unknown
    last_frame: int
    norm: float
    likeness: float | None  # cosine to the chosen row


@dataclass(frozen=True)
class VideoRows:
    output: str
    shape: tuple[int, ...]  # of one row
    dtype: str
    chosen: int
    rows: Paged[ShownRow]
    length: float  # seconds at which the last row ends; 0 when unknown

    def strength(self, row: ShownRow) -> float:
        """0.1 of the least alike row of the page, 1 of the most: cosines of one video are often all near one."""
        known = [each.likeness for each in self.rows.items if each.likeness is not None]
        if row.likeness is None or max(known) == min(known):
            return 1.0 if row.number == self.chosen else 0.1
        return 0.1 + 0.9 * (row.likeness - min(known)) / (max(known) - min(known))

    @property
    def start(self) -> float | None:
        """Of the chosen row, where it is on this page."""
        return next((row.start for row in self.rows.items if row.number == self.chosen), None)


def store_names(folder: Path = FEATURES) -> list[str]:
    """Of those with a manifest; `none` stands for a feature that a run does without."""
    return sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}") if path.parent.name != "none")


def list_stores(folder: Path = FEATURES) -> list[StoreLine]:
    """A damaged one costs its facts, not the list."""
    return [_line(name, folder) for name in store_names(folder)]


def store_of(name: str, folder: Path = FEATURES) -> Store:
    """By a name that somebody sent: it is one of the list, or there is no such store."""
    if name not in (known := store_names(folder)):
        raise InputError(
            f"there is no store '{printable(name)}'; there are: {named(known) or 'none yet'}", hint="dvc repro"
        )
    return _opened(folder / name / MANIFEST)


_opened = kept(lambda manifest: open_store(manifest.parent), files=16)


def _line(name: str, folder: Path) -> StoreLine:
    try:
        store = store_of(name, folder)
    except (FramescribeError, OSError) as error:
        return StoreLine(name=name, problem=str(error))
    manifest, sizes = store.manifest, store.manifest["sizes"]
    return StoreLine(
        name=name,
        videos=sizes["videos"],
        failed=len(manifest["failures"]),
        rows=sizes["rows"],
        bytes=sizes["bytes"],
        tensors=tuple(
            f"{tensor} {' × '.join(map(str, facts['shape']))} {facts['dtype']}"
            for tensor, facts in manifest["outputs"].items()
        ),
        untrained=store.untrained,
        whose=whose_weights(manifest),
    )


def store_videos(store: Store, *, query: str = "", state: str = "all", page: int = 1) -> Paged[StoredVideo]:
    """Of ids that contain the query, in order."""
    present, failed = store.manifest["videos"], store.manifest["failures"]
    ids = {"all": (*present, *failed), "present": (*present,), "failed": (*failed,)}.get(state, ())
    wanted = query.casefold()
    found = sorted((id_ for id_ in ids if wanted in id_.casefold()), key=by_number)
    shown = paged(found, page, size=VIDEOS)
    lines = [StoredVideo(id_, *_facts(store, id_)) for id_ in shown.items]
    return Paged(lines, shown.page, shown.pages, shown.count, shown.first)


def _facts(store: Store, video: str) -> tuple[int, str]:
    if store.state(video) == "failed":
        return 0, printable(str(store.failure(video)))
    return store.manifest["videos"][video]["rows"], ""


def video_rows(store: Store, video: str, *, output: str = "", chosen: int = 0, page: int = 0) -> VideoRows:
    """The rows of one video beside the chosen one; the page is that of the chosen row unless one is asked for."""
    features = store[video]
    name = output if output in (names := list(features)) else names[0]
    table, shape = features[name], features[name].shape[1:]
    at = min(max(chosen, 0), max(0, len(table) - 1))
    shown = paged(range(len(table)), page or at // ROWS + 1, size=ROWS)
    rows = features.rows
    norms, likenesses = _compared(table, shown.items, at)
    lines = [
        ShownRow(
            number,
            _known(rows.start[number]),
            _known(rows.end[number]),
            int(rows.first_frame[number]),
            int(rows.last_frame[number]),
            norm,
            likeness,
        )
        for number, norm, likeness in zip(shown.items, norms, likenesses, strict=True)
    ]
    page_of_lines = Paged(lines, shown.page, shown.pages, shown.count, shown.first)
    length = float(np.nan_to_num(rows.end, nan=0.0).max(initial=0.0))
    return VideoRows(name, shape, str(table.dtype), at, page_of_lines, length)


def _compared(table: np.ndarray, numbers: Sequence[int], chosen: int) -> tuple[list[float], list[float | None]]:
    """Norms of some rows, and their cosines to the chosen one; none to or of a row of zeros."""
    if not len(numbers):
        return [], []
    some = content(table[numbers[0] : numbers[-1] + 1])
    one = content(table[chosen : chosen + 1])[0]
    norms = np.linalg.norm(some, axis=1)
    scale = norms * np.linalg.norm(one)
    cosines = np.divide(some @ one, scale, out=np.full(len(some), np.nan, np.float32), where=scale > 0)
    return norms.tolist(), [_known(value) for value in cosines]


def _known(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
