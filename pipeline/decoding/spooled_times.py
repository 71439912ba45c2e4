"""Presentation times on disk until the index is written: videos come in any order, and those of a million are 10 GB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.core import cache_folder


class SpooledTimes(Mapping[str, np.ndarray]):
    """Video -> float64 (frames,), in a file without a name, of which nothing is left when the process ends."""

    def __init__(self) -> None:
        folder = cache_folder("decode")
        folder.mkdir(parents=True, exist_ok=True)
        self._file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed when it is garbage
        self._places: dict[str, tuple[int, int]] = {}  # first byte, frames

    def add(self, video_id: str, times: list[float]) -> None:
        place = self._file.seek(0, 2)
        self._file.write(np.array(times, np.float64).tobytes())
        self._places[video_id] = place, len(times)

    def __getitem__(self, video_id: str) -> np.ndarray:
        place, frames = self._places[video_id]
        self._file.seek(place)
        return np.frombuffer(self._file.read(8 * frames), np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
