"""What the index says of a video or a refused file, and how a line of its files says it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from pipeline.core import InputError

AGAIN = "framescribe decode"


@dataclass(frozen=True)
class VideoRow:
    """What decoding proved about a usable video. Sizes are after rotation; seconds count from the first frame."""

    id: str
    path: str
    sha256: str
    frames: int
    width: int
    height: int
    fps: float  # frames / duration: the mean rate, also of a variable one
    duration: float  # seconds from the first frame until the last one ends
    audio: str  # "present" | "absent" | "unreadable"
    backend: str  # "decord" | "pyav" | "torchcodec"
    warnings: tuple[str, ...]
    why: str = ""  # the reason for the backend
    lost: int = 0  # frames that the file promises and that could not be decoded
    start: float = 0.0  # presentation time (PTS) of the first frame in the container, which the sound shares
    audio_start: float = 0.0  # where the sound begins and ends, in seconds from the first frame; both 0 without sound
    audio_end: float = 0.0
    audio_peak: float = 0.0  # largest amplitude, 0..1; 0 is silence
    build: str = ""  # of a backend that no lock pins: its version and its FFmpeg's; a row without one does not say so

    @property
    def decoder(self) -> str:
        """All that is known of what gave the pixels."""
        return f"{self.backend} {self.build}".rstrip()


@dataclass(frozen=True)
class QuarantineRow:
    """A file that cannot be used; `reason` is one of `pipeline.decoding.REASONS`."""

    id: str
    path: str
    reason: str
    message: str


IndexRow = TypeVar("IndexRow", VideoRow, QuarantineRow)
COLUMNS = {kind: frozenset(field.name for field in fields(kind)) for kind in (VideoRow, QuarantineRow)}


def lines_of(rows: Iterable[VideoRow | QuarantineRow]) -> Iterator[bytes]:
    # ASCII only: a file name that is not UTF-8 becomes lone surrogates, which JSON can carry as \udcXX escapes
    for row in rows:
        values = {name: value for name, value in vars(row).items() if name != "build" or value}
        yield json.dumps(values, ensure_ascii=True).encode() + b"\n"


def parse_line(line: bytes, kind: type[IndexRow], *, where: str) -> IndexRow:
    """Columns that this version does not know are passed over."""
    names = COLUMNS[kind]
    try:
        values = json.loads(line)
        known: dict[str, Any] = {
            name: tuple(value) if name == "warnings" else value for name, value in values.items() if name in names
        }
        return kind(**known)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where} is not a row of the index: {error}", hint=AGAIN) from error
