"""sha256 of files and of JSON records, and the checksum that a file holds of itself: docs/feature-store.md, seal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def record_sha256(record: Any) -> str:
    """The hash of a JSON value whose key order does not matter."""
    return hashlib.sha256(canonical(record).encode()).hexdigest()


def canonical(record: Any) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


SEAL = b"0" * 64  # stands for the checksum while it is computed


def sealed(data: bytes, *, at: int) -> bytes:
    """`data` with the sha256 of itself written over the 64 zeros at `at`."""
    if data[at : at + len(SEAL)] != SEAL:
        raise ValueError(f"no place for a checksum at byte {at}")
    return data[:at] + hashlib.sha256(data).hexdigest().encode() + data[at + len(SEAL) :]


def seal_is_whole(data: bytes, *, at: int) -> bool:
    """Whether the checksum at `at` is right: no bit changed since `sealed`, its own included."""
    sha256, behind = hashlib.sha256(data[:at]), memoryview(data)[at + len(SEAL) :]
    sha256.update(SEAL)
    sha256.update(behind)  # a copy of it would be as large as the file
    return data[at : at + len(SEAL)] == sha256.hexdigest().encode()


def write_sealed(stream: BinaryIO, pieces: Iterable[bytes], *, at: int) -> None:
    """The bytes of `sealed`, of pieces that are never together in memory."""
    sha256 = hashlib.sha256()
    for piece in pieces:
        sha256.update(piece)
        stream.write(piece)
    stream.seek(at)
    stream.write(sha256.hexdigest().encode())
