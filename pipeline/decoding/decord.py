"""decord, the default backend: in order only, and only for videos on which it was seen to equal the judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import decord
import numpy as np

from pipeline.decoding.opening import opened
from pipeline.decoding.reasons import DecodeError

decord.logging.set_level(decord.logging.QUIET)
FAULT_TOLERANCE = 0.0001  # of the frames: an invented frame is an error, never a silent copy of its neighbour


class _Borrowed:
    """decord's memory as numpy reads it, without a copy."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **_: Any) -> Any:
        return self._array.to_dlpack()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU


def read(path: str, *, wanted: list[int], threads: int) -> Iterator[tuple[int, np.ndarray | None]]:
    """Frame numbers from the first on, with RGB for the wanted ones (sorted, each once)."""
    with opened(path) as name:
        try:
            reader = decord.VideoReader(name, ctx=decord.cpu(0), num_threads=threads, fault_tol=FAULT_TOLERANCE)
            yield from _read(reader, wanted=wanted)
        except (decord.DECORDError, decord.DECORDLimitReachedError) as error:
            raise DecodeError("no-frames", f"decord cannot read '{path}': {_last_line(error)}") from error


def _read(reader: Any, *, wanted: list[int]) -> Iterator[tuple[int, np.ndarray | None]]:
    position = 0
    for target in wanted:
        if target >= len(reader):  # decord would go on with frames that it makes up
            return
        if target > position:
            reader.skip_frames(target - position)
            yield target - 1, None
        try:
            yield target, np.from_dlpack(_Borrowed(reader.next()))
        except StopIteration:
            return
        position = target + 1


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].rpartition("]")[2].strip()
