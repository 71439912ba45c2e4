"""The features of one video: named tensors, and a table that says what their rows are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.core import InputError, named, printable
from pipeline.store.tensor_file import TensorFile

ROW_COLUMNS = {  # column -> what it says
    "first_frame": "int64: first real frame of the row, counted from 0; -1 when unknown",
    "last_frame": "int64: last real frame, inclusive; -1 when unknown",
    "start": "float64: second at which the first frame is shown, on the picture's clock; NaN when unknown",
    "end": "float64: second at which the last frame stops being shown; NaN when unknown",
    "valid": "int64: real frames in the row, the rest of a window repeats them; of sound, frames with true sound, or 0",
}
COLUMN_TYPES = {column: meaning.split(":")[0] for column, meaning in ROW_COLUMNS.items()}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What each feature row is: frames [first, last], seconds [start, end), and how many real frames it has."""

    first_frame: np.ndarray  # (R,) int64
    last_frame: np.ndarray  # (R,) int64
    start: np.ndarray  # (R,) float64
    end: np.ndarray  # (R,) float64
    valid: np.ndarray  # (R,) int64

    def __len__(self) -> int:
        return len(self.first_frame)

    def columns(self) -> dict[str, np.ndarray]:
        return {column: getattr(self, column).astype(type_, copy=False) for column, type_ in COLUMN_TYPES.items()}


def rows_of(count: int, *, seconds: float = float("nan")) -> Rows:
    """The table of rows whose frames nobody wrote down; `seconds` is the length of a row if at least that is known."""
    unknown, edges = np.full(count, -1, np.int64), np.arange(count + 1) * seconds
    return Rows(first_frame=unknown, last_frame=unknown, start=edges[:-1], end=edges[1:], valid=np.ones(count, int))


class VideoFeatures(Mapping[str, np.ndarray]):
    """The named tensors of one video, all with one row per entry of `rows`."""

    def __init__(self, *, tensors: Mapping[str, np.ndarray], rows: Rows) -> None:
        self.tensors = tensors  # name -> (R, ...)
        self._rows = rows

    @property
    def rows(self) -> Rows:
        return self._rows

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.tensors:
            raise InputError(f"there is no feature '{printable(name)}' in this store; it has: {named(self.tensors)}")
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def parts(self) -> dict[str, np.ndarray]:
        """Everything as it is stored: the tensors, and the columns of the row table."""
        return dict(self) | {f"rows.{column}": array for column, array in self.rows.columns().items()}


class StoredFeatures(VideoFeatures):
    """The same, read from a file on demand: what is not asked for is neither read nor checked."""

    def __init__(self, file: TensorFile, *, names: list[str], prefix: str = "") -> None:
        self._file, self._prefix = file, prefix
        self.tensors = _Part(file, prefix, tuple(names))

    @property
    def rows(self) -> Rows:
        return self._table

    @cached_property
    def _table(self) -> Rows:
        return Rows(**{column: self._file[f"{self._prefix}rows.{column}"] for column in ROW_COLUMNS})


@dataclass(frozen=True)
class _Part(Mapping[str, np.ndarray]):
    file: TensorFile
    prefix: str
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.file[self.prefix + name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
