"""decord, the default backend: in order only, and only for videos on which it was seen to equal PyAV."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from pipeline.core import DecodeError
from pipeline.decoding.opening import OpenedFile

# decord loads its libraries for the whole process to see, where they shadow the newer ones that PyAV brings (seen:
# libvpx refuses to open). Loaded privately, the two do not meet.
_for_all = ctypes.RTLD_GLOBAL
vars(ctypes)["RTLD_GLOBAL"] = ctypes.RTLD_LOCAL
import decord  # noqa: E402 - see above

vars(ctypes)["RTLD_GLOBAL"] = _for_all
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


def read(file: OpenedFile, *, wanted: list[int], threads: int) -> Generator[np.ndarray | None, None, None]:
    """From the first frame to the last wanted one: RGB for the wanted ones, None for the others."""
    try:
        reader = decord.VideoReader(file.name, ctx=decord.cpu(0), num_threads=threads, fault_tol=FAULT_TOLERANCE)
        yield from _read(reader, wanted=wanted)
    except (decord.DECORDError, decord.DECORDLimitReachedError) as error:
        raise DecodeError("no-frames", f"decord cannot read '{file.path}': {_last_line(error)}") from error


def _read(reader: Any, *, wanted: list[int]) -> Iterator[np.ndarray | None]:
    """One `next()` after the other: `skip_frames` was seen to land on other frames, as seeking does."""
    targets = set(wanted)
    for number in range(min(len(reader), max(wanted) + 1)):  # beyond its length decord makes frames up
        try:
            array = reader.next()
        except StopIteration:
            return
        yield np.from_dlpack(_Borrowed(array)) if number in targets else None


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].rpartition("]")[2].strip()
