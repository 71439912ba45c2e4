"""The video index: one row per usable video, one row per quarantined file, and every frame's presentation time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import DamageError, InputError, atomic, file_sha256, read_sealed_json, write_sealed_json

INDEX_FILE = "index.jsonl"
QUARANTINE_FILE = "quarantine.jsonl"
TIMES_FILE = "times.npy"  # float64, the frames of all videos in the order of their ids
CHECKSUMS_FILE = "checksums.json"  # of the other three: the one file that stands for the whole index
CONTENT = (INDEX_FILE, QUARANTINE_FILE, TIMES_FILE)
FILES = (*CONTENT, CHECKSUMS_FILE)
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


@dataclass(frozen=True)
class VideoIndex:
    folder: Path
    rows: dict[str, VideoRow]  # sorted by id
    quarantined: dict[str, QuarantineRow]  # sorted by id
    _times: np.ndarray
    _offsets: dict[str, int]

    def times(self, video_id: str) -> np.ndarray:
        """Presentation seconds of a video's frames, float64 (frames,); the first is 0."""
        offset = self._offsets[video_id]
        return np.array(self._times[offset : offset + self.rows[video_id].frames])


def write_index(
    folder: Path,
    rows: Iterable[VideoRow],
    *,
    times: Mapping[str, np.ndarray],
    quarantined: Iterable[QuarantineRow] = (),
) -> None:
    """Publish the files, the checksums of all last; equal rows give equal bytes, whatever order they come in."""
    ordered = sorted(rows, key=lambda row: row.id)
    refused = sorted(quarantined, key=lambda row: row.id)
    _write_times(folder / TIMES_FILE, (times[row.id] for row in ordered), count=sum(row.frames for row in ordered))
    atomic.write_text(folder / QUARANTINE_FILE, _lines(refused))
    atomic.write_text(folder / INDEX_FILE, _lines(ordered))
    write_sealed_json(folder / CHECKSUMS_FILE, {name: file_sha256(folder / name) for name in CONTENT})


def read_index(folder: Path) -> VideoIndex:
    """What `write_index` wrote, once every file has shown that no bit of it changed."""
    _require_whole(folder)
    rows = {row.id: row for row in _read(folder / INDEX_FILE, VideoRow)}
    quarantined = {row.id: row for row in _read(folder / QUARANTINE_FILE, QuarantineRow)}
    ends = np.cumsum([0, *(row.frames for row in rows.values())]).tolist()
    times = _read_times(folder / TIMES_FILE, expected=ends[-1])
    offsets = dict(zip(rows, ends, strict=False))
    return VideoIndex(folder, rows, quarantined, times, offsets)


def _require_whole(folder: Path) -> None:
    present = [_present(folder / name) for name in FILES]
    checksums = read_sealed_json(folder / CHECKSUMS_FILE, hint=AGAIN)
    for path in present[: len(CONTENT)]:
        if file_sha256(path) != checksums.get(path.name):
            raise DamageError(f"{path} is damaged: its checksum does not fit", hint=AGAIN)


def _write_times(path: Path, parts: Iterable[np.ndarray], *, count: int) -> None:
    """As `np.save` of all together would, with one video in memory at a time."""
    header = {"descr": np.dtype(np.float64).str, "fortran_order": False, "shape": (count,)}
    with atomic.publishing(path) as temporary, temporary.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for part in parts:
            stream.write(np.ascontiguousarray(part, np.float64).data)


def _lines(rows: Iterable[VideoRow | QuarantineRow]) -> str:
    # ASCII only: a file name that is not UTF-8 becomes lone surrogates, which JSON can carry as \udcXX escapes
    return "".join(json.dumps(_values(row), ensure_ascii=True) + "\n" for row in rows)


def _values(row: VideoRow | QuarantineRow) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name != "build" or value}


def _read(path: Path, kind: type[Any]) -> list[Any]:
    lines = path.read_text().splitlines()
    return [_parse(line, kind, where=f"{path}, line {number}") for number, line in enumerate(lines, start=1)]


def _present(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"'{path.parent}' holds no video index: {path.name} is missing", hint=AGAIN)
    return path


def _parse(line: str, kind: type[Any], *, where: str) -> Any:
    names = {field.name for field in fields(kind)}
    try:
        values = json.loads(line)
        known = {name: tuple(value) if name == "warnings" else value for name, value in values.items() if name in names}
        return kind(**known)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where} is not a row of the index: {error}", hint=AGAIN) from error


def _read_times(path: Path, *, expected: int) -> np.ndarray:
    times = np.load(path, mmap_mode="r" if expected else None, allow_pickle=False)
    if times.shape != (expected,):
        stated = f"{path} holds {times.size} times, the rows have {expected} frames together"
        raise InputError(stated, hint=AGAIN)
    return times
