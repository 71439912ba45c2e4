"""A video that changes at the worst moment: after it was hashed, as a decoder is asked for it or has begun."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pipeline.core.executors import Executor
from pipeline.decoding.guard import Guard
from tests.clips import write_clip

RACES = ("swapped", "overwritten", "growing")


@dataclass(frozen=True)
class Race:
    """`video` holds `before`; it becomes `after` when the first request goes out, or with its first answer."""

    how: str
    video: Path
    before: bytes
    after: bytes
    late: bool = False

    def prepare(self) -> None:
        self.video.write_bytes(self.before)

    def change(self) -> None:
        status = self.video.stat()
        if self.how == "swapped":
            other = self.video.with_suffix(".other")
            other.write_bytes(self.after)
            other.replace(self.video)
        else:
            with self.video.open("r+b") as stream:  # the same file, and its time as it was
                stream.write(self.after)
        if self.how != "growing":
            os.utime(self.video, ns=(status.st_atime_ns, status.st_mtime_ns))

    @contextmanager
    def running(self) -> Iterator[None]:
        request, done = Guard.request, []

        def once() -> None:
            if not done:
                done.append(True)
                self.change()

        def raced(guard: Guard, *details: Any, path: str, **more: Any) -> Iterator[Any]:
            ours = Path(path) == self.video
            if ours and not self.late:
                once()
            for message in request(guard, *details, path=path, **more):
                if ours:
                    once()
                yield message

        with patch.object(Guard, "request", raced):
            yield


@dataclass(frozen=True)
class Raced:
    """Work that meets the race in whatever process it is done."""

    work: Callable[[Any], Any]
    race: Race

    def __call__(self, item: Any) -> Any:
        with self.race.running():
            return self.work(item)


@dataclass(frozen=True)
class Racing:
    """An executor whose work is raced."""

    executor: Executor
    race: Race
    workers: int = 1

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        return self.executor.map(Raced(work, self.race), items)


def make_race(how: str, video: Path, *, late: bool = False) -> Race:
    """Clips of equal size, or the first part of a transport stream and the whole of it."""
    one, two = video.with_name(".one.ts"), video.with_name(".two.ts")
    whole = write_clip(one, frames=60, width=64, height=48, options={"g": "10"}).read_bytes()
    if how == "growing":
        race = Race(how, video, whole[: len(whole) // 2 // 188 * 188], whole, late=late)
    else:
        other = write_clip(two, frames=60, width=64, height=48, fps=10, options={"crf": "45"}).read_bytes()
        size = max(len(whole), len(other))
        race = Race(how, video, _padded(whole, size), _padded(other, size), late=late)
    for path in (one, two):
        path.unlink(missing_ok=True)
    race.prepare()
    return race


def _padded(stream: bytes, size: int) -> bytes:
    """With empty packets of a transport stream, which say nothing."""
    empty = b"\x47\x1f\xff\x10" + b"\xff" * 184
    return stream + empty * ((size - len(stream)) // len(empty))
