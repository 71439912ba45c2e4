"""Atomic publishing: a reader sees the old file, the new file, or none, never half of one."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def _sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    """In the same folder, and of this thread alone: two writers of one path never share it."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")


@contextmanager
def publishing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to `path` when the block ends well, remove it when not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    with publishing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Sorted and indented, so that equal values are equal bytes and a diff is readable."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


@contextmanager
def fresh_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder that replaces `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        shutil.rmtree(path, ignore_errors=True)
        temporary.rename(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
