"""Rows and times of an index, read from its files when they are asked for.

Memory has each video's id, and where its row and its times lie. The files stay open: whatever takes their place
meanwhile, what is read is what was checked.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pipeline.core import DamageError, InputError
from pipeline.index.index_lines import AGAIN, VideoRow, parse_line

LATEST = 512  # rows that stay parsed: those of a shard are asked for several times


class StoredRows(Mapping[str, VideoRow]):
    """Video -> its row, in the file's order. Every line is parsed once to see that it is one, and not kept."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._read = lru_cache(maxsize=LATEST)(partial(_row_at, self._file))  # without a circle, which would stay open
        self.numbers: dict[str, int] = {}  # video -> line, from 0
        self._starts = array("q", [0])  # byte at which each line starts, and where the last one ends
        self.first_frames = array("q", [0])  # of each video among those of all, and how many there are
        for number, line in enumerate(self._file):
            row = _parsed(line, path, number)
            self.numbers[row.id] = number
            self._starts.append(self._starts[-1] + len(line))
            self.first_frames.append(self.first_frames[-1] + row.frames)

    def __getitem__(self, video_id: str) -> VideoRow:
        number = self.numbers[video_id]
        start, end = self._starts[number : number + 2]
        return self._read(number, start, end)

    def __contains__(self, video_id: object) -> bool:
        return video_id in self.numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def _row_at(stream: BinaryIO, number: int, start: int, end: int) -> VideoRow:
    return _parsed(os.pread(stream.fileno(), end - start, start), stream.name, number)


def _parsed(line: bytes, name: Path | str, number: int) -> VideoRow:
    return parse_line(line, VideoRow, where=f"{name}, line {number + 1}")


class StoredTimes:
    """Presentation seconds of a video's frames, float64 (frames,); the first is 0."""

    def __init__(self, path: Path, rows: StoredRows) -> None:
        self._file, self._rows = path.open("rb"), rows
        np.lib.format.read_magic(self._file)
        (count,), _, _ = np.lib.format.read_array_header_1_0(self._file)
        self._start = self._file.tell()
        if count != rows.first_frames[-1]:
            stated = f"{path} holds {count} times, the rows have {rows.first_frames[-1]} frames together"
            raise InputError(stated, hint=AGAIN)

    def __call__(self, video_id: str) -> np.ndarray:
        number = self._rows.numbers[video_id]
        first, end = self._rows.first_frames[number : number + 2]
        times = np.empty(end - first)
        if os.preadv(self._file.fileno(), [times.data], self._start + first * times.itemsize) != times.nbytes:
            raise DamageError(f"{self._file.name} became shorter while it was read", hint=AGAIN)
        return times
