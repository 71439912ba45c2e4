"""Examine a file, read its frames, read its sound. Everything native happens in a guarded child process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.core import DecodeError, printable
from pipeline.decoding.arena import slots_for
from pipeline.decoding.guard import borrowed_guard, has_spare_core
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile, opened
from pipeline.index import VideoRow
from pipeline.remote import at_hand

DEFAULT_LIMITS = Limits()
DENSE = 2  # a judged backend reads at least every second frame; it converts all it passes, PyAV only the wanted ones
_FAULTS = frozenset({"crash", "timeout", "memory", "no-frames", "unsupported"})


@dataclass(frozen=True)
class Audio:
    """Mono sound whose sample 0 has the presentation time of frame 0; before `start` and after `end` there is none."""

    samples: np.ndarray  # (samples,) float32 in -1..1
    rate: int
    state: str  # "present" | "silent" | "absent" | "unreadable"
    start: float  # presentation time where true sound begins; earlier sound is cut, a gap is zeros
    end: float
    warnings: tuple[str, ...] = ()


def inspect_video(
    path: str, *, limits: Limits = DEFAULT_LIMITS, file: OpenedFile | None = None, backend: str = "decord"
) -> dict[str, Any]:
    """Facts from decoding a file completely, with `backend` and `why`; a DecodeError when it cannot be used.

    Here and below, `file` is what `path` was opened as before: for a caller who must know which bytes were read.
    """
    facts: dict[str, Any] = {}
    try:
        with _given_or_opened(file, path) as here, borrowed_guard(limits, backend=backend) as guard:
            for message in guard.request("examine", path=here.path, file=here, backend=backend):
                facts |= message.pop("facts", {}) | message
    except DecodeError as error:
        if facts.pop("trying", None) is None:  # PyAV itself failed
            raise
        # a fault may be the machine's, so it is not for the cache to keep
        facts |= {"backend": "pyav", "why": f"{backend} failed ({error.reason})", "fault": error.reason}
    facts.pop("trying", None)
    return facts


def read_frames(
    row: VideoRow,
    indices: Sequence[int] | np.ndarray,
    *,
    limits: Limits = DEFAULT_LIMITS,
    threads: int = 1,
    file: OpenedFile | None = None,
) -> Iterator[np.ndarray]:
    """uint8 RGB (H, W, 3) of the frames in `indices`: sorted, each once, from the backend the index chose.

    A sparse list is PyAV's whatever the index chose: the pixels are equal, and it is faster. Should the backend
    fail on a video that it once read rightly, PyAV goes on. `threads` is the decoder's own, 0 for as many as it likes;
    damaged videos are read with one, as they were judged.
    """
    wanted = np.unique(np.asarray(indices, np.int64)).tolist()
    _require_inside(row, wanted)
    backend = row.backend if _is_dense(wanted) else "pyav"
    with _given_or_opened(file, row.path) as here:
        given = 0
        try:
            for frame in _frames(here, row, wanted, backend=backend, limits=limits, threads=threads):
                given += 1
                yield frame
        except DecodeError as error:
            if backend == "pyav" or error.reason not in _FAULTS:
                raise
            yield from _frames(here, row, wanted[given:], backend="pyav", limits=limits, threads=threads)


def read_audio(
    row: VideoRow, rate: int = 16000, file: OpenedFile | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> Audio:
    """The sound of a video as float32 mono at `rate`; sample 0 belongs to the first frame."""
    with _given_or_opened(file, row.path) as here, borrowed_guard(limits) as guard:
        offset = guard.arena.clear()
        (facts,) = guard.request("audio", path=here.path, file=here, rate=rate, offset=offset)
        samples = guard.arena.floats(offset, count=facts["samples"])
        guard.arena.clear()
    return _placed(samples, facts, rate=rate, picture_start=row.start)


def _frames(
    file: OpenedFile, row: VideoRow, wanted: list[int], *, backend: str, limits: Limits, threads: int
) -> Iterator[np.ndarray]:
    if not wanted:
        return
    shape = (row.height, row.width, 3)
    given = 0
    with borrowed_guard(limits, backend=backend) as guard:
        region = guard.arena.place(slots=slots_for(math.prod(shape)), slot_bytes=math.prod(shape))
        messages = guard.request(
            "frames",
            path=file.path,
            file=file,
            region=region,
            backend=backend,
            build=row.build if backend == row.backend else "",
            wanted=wanted,
            threads=1 if row.lost or _is_damaged(row) else threads,
            early=_is_dense(wanted) and has_spare_core(),
            shape=shape,
            offset=region.offset,
            slots=region.slots,
            stride=region.stride,
        )
        for slot in (slot for message in messages for slot in message["slots"]):
            given += 1
            yield region.take(slot, shape)
    if given != len(wanted):
        stated = f"'{row.path}' ended before frame {wanted[given]}; its row in the index states {row.frames} frames"
        raise DecodeError("fewer-frames", stated, hint="framescribe decode")


@contextmanager
def _given_or_opened(file: OpenedFile | None, path: str) -> Iterator[OpenedFile]:
    """The caller's open file, or the regular file or URL at `path`, opened here."""
    if file is not None:
        yield file
        return
    with at_hand(path) as local, opened(local) as here:
        yield here


def _is_dense(wanted: list[int]) -> bool:
    return bool(wanted) and len(wanted) * DENSE > wanted[-1]


def _is_damaged(row: VideoRow) -> bool:
    return any(warning.startswith("damaged") for warning in row.warnings)


def _require_inside(row: VideoRow, wanted: list[int]) -> None:
    outside = [index for index in wanted if not 0 <= index < row.frames]
    if outside:
        raise DecodeError(
            "fewer-frames", f"'{printable(row.id)}' has frames 0 to {row.frames - 1}; asked for {outside[:5]}"
        )


def _placed(samples: np.ndarray, facts: dict[str, Any], *, rate: int, picture_start: float) -> Audio:
    """Cut or pad the beginning, so that sample 0 has the presentation time of frame 0."""
    if not len(samples):
        return Audio(samples, rate, "unreadable" if facts["found"] else "absent", 0.0, 0.0)
    lead = round((facts["start"] - picture_start) * rate)  # samples that the sound comes late
    end = lead + len(samples)
    moved = np.concatenate([np.zeros(lead, np.float32), samples]) if lead > 0 else samples[-lead:]
    state = "present" if np.any(moved) else "silent"
    damage = (f"audio-damaged: {facts['failures']} packets of sound failed",) if facts["failures"] else ()
    return Audio(moved, rate, state, max(lead, 0) / rate, max(end, 0) / rate, damage)
