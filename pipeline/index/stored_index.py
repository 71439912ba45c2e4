"""Rows and times of an index, read from its files when they are asked for.

Memory has each video's id, and where its row and its times lie. The files stay open: whatever takes their place
meanwhile, what is read is what was checked.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from pipeline.core import DamageError, InputError
from pipeline.index.index_lines import AGAIN, VideoRow, parse_line

LATEST = 512  # rows that stay parsed: those of a shard are asked for several times


class StoredRows(Mapping[str, VideoRow]):
    """Video -> its row, in the file's order. Every line is parsed once to see that it is one, and not kept."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("rb")
        self.numbers: dict[str, int] = {}  # video -> line, from 0
        self._starts = array("q", [0])  # byte at which each line starts, and where the last one ends
        self.first_frames = array("q", [0])  # of each video among those of all, and how many there are
        for number, line in enumerate(self._file):
            row = self._row(line, number)
            self.numbers[row.id] = number
            self._starts.append(self._starts[-1] + len(line))
            self.first_frames.append(self.first_frames[-1] + row.frames)
        self._parsed = lru_cache(maxsize=LATEST)(self._read)

    def __getitem__(self, video_id: str) -> VideoRow:
        return self._parsed(video_id)

    def _read(self, video_id: str) -> VideoRow:
        number = self.numbers[video_id]
        start, end = self._starts[number : number + 2]
        return self._row(os.pread(self._file.fileno(), end - start, start), number)

    def __contains__(self, video_id: object) -> bool:
        return video_id in self.numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def _row(self, line: bytes, number: int) -> VideoRow:
        return parse_line(line, VideoRow, where=f"{self._path}, line {number + 1}")


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
