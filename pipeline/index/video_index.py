"""The video index: one row per usable video, one row per quarantined file, and every frame's presentation time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.core import DamageError, InputError, atomic, file_sha256, read_sealed_json, write_sealed_json
from pipeline.index.index_lines import AGAIN, QuarantineRow, VideoRow, lines_of, parse_line
from pipeline.index.stored_index import StoredRows, StoredTimes

INDEX_FILE = "index.jsonl"
QUARANTINE_FILE = "quarantine.jsonl"
TIMES_FILE = "times.npy"  # float64, the frames of all videos in the order of their ids
CHECKSUMS_FILE = "checksums.json"  # of the other three: the one file that stands for the whole index
CONTENT = (INDEX_FILE, QUARANTINE_FILE, TIMES_FILE)
FILES = (*CONTENT, CHECKSUMS_FILE)


@dataclass(frozen=True)
class VideoIndex:
    """What was read stays on disk: a row or the times of a video are fetched each time they are asked for."""

    folder: Path
    rows: Mapping[str, VideoRow]  # sorted by id
    quarantined: dict[str, QuarantineRow]  # sorted by id
    times: Callable[[str], np.ndarray]  # video -> presentation seconds of its frames, float64 (frames,); the first is 0


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
    _write_lines(folder / QUARANTINE_FILE, refused)
    _write_lines(folder / INDEX_FILE, ordered)
    write_sealed_json(folder / CHECKSUMS_FILE, {name: file_sha256(folder / name) for name in CONTENT})


def read_index(folder: Path) -> VideoIndex:
    """What `write_index` wrote, once every file has shown that no bit of it changed."""
    _require_whole(folder)
    rows = StoredRows(folder / INDEX_FILE)
    with (folder / QUARANTINE_FILE).open("rb") as stream:
        lines = enumerate(stream, start=1)
        refused = [parse_line(line, QuarantineRow, where=f"{stream.name}, line {number}") for number, line in lines]
    return VideoIndex(folder, rows, {row.id: row for row in refused}, StoredTimes(folder / TIMES_FILE, rows))


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


def _write_lines(path: Path, rows: Iterable[VideoRow | QuarantineRow]) -> None:
    with atomic.publishing(path) as temporary, temporary.open("wb") as stream:
        stream.writelines(lines_of(rows))


def _present(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"'{path.parent}' holds no video index: {path.name} is missing", hint=AGAIN)
    return path
