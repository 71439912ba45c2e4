"""Atomic publishing: a reader sees the old file, the new file, or none, never half of one."""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.core.errors import DiskFullError, InputError

ABANDONED = 24 * 3600.0  # seconds after which an unfinished file of another machine counts as left behind
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_PLACE = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG)


def _sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def publishing(path: Path, *, temporary_folder: Path | None = None, lasting: bool = True) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to `path` when the block ends well, remove it when not.

    The temporary path lies in `temporary_folder`, on the same file system; without one, beside `path`. What is not
    `lasting` may be lost in a power cut: a file that is written every second shall not make the disk wait.
    """
    temporary = _temporary(path, temporary_folder or path.parent)
    _make_folders(path.parent, temporary.parent)
    try:
        with named_when_full(path):
            yield temporary
            if lasting:
                _sync(temporary)
            with named_when_refused(path):
                temporary.replace(path)
            if lasting:
                _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes, *, lasting: bool = True) -> None:
    with publishing(path, lasting=lasting) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Sorted and indented, so that equal values are equal bytes and a diff is readable."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


@contextmanager
def fresh_folder(path: Path, *, known_by: str) -> Iterator[Path]:
    """Give an empty folder that replaces `path` when the block ends well; until then `path` stays as it was.

    What is replaced is deleted, so it must be empty or have a file of the kind `known_by`, which only ours have.
    """
    _refuse_foreign(path, known_by=known_by)
    _make_folders(path.parent)
    sweep(path.parent, name=path.name)
    temporary = _temporary(path, path.parent)
    shutil.rmtree(temporary, ignore_errors=True)
    with named_when_refused(path):
        temporary.mkdir()
    try:
        with named_when_full(path):
            yield temporary
            _sync(temporary)
            _swap(temporary, path)
            _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sweep(folder: Path, *, name: str = "") -> list[Path]:
    """Remove what killed processes left unfinished in `folder` (of the file or folder `name`, or of any)."""
    pattern = f".{glob.escape(name) if name else '*'}.*.tmp"
    left = [path for path in folder.glob(pattern) if _is_abandoned(path)]
    for path in left:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return left


def _make_folders(*folders: Path) -> None:
    for folder in folders:
        with named_when_refused(folder):
            folder.mkdir(parents=True, exist_ok=True)


def _refuse_foreign(path: Path, *, known_by: str) -> None:
    ours = path.is_dir() and (any(path.glob(known_by)) or not any(path.iterdir()))
    if path.exists() and not ours:
        raise InputError(
            f"{path} is there already and holds something else (no {known_by}); it would be replaced as a whole",
            hint="name another folder, or remove this one yourself",
        )


def _temporary(path: Path, folder: Path) -> Path:
    """Of this thread alone, so that two writers of one path never share it."""
    return folder / own_name(path.name)


def own_name(name: str) -> str:
    """A name with machine, process and thread, from which `sweep` knows whether its writer still runs."""
    return f".{name}.{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}.tmp"


def _is_abandoned(path: Path) -> bool:
    """Whether the process in the name is gone; of another machine only the age can tell."""
    host, process, *_ = [*path.name.removesuffix(".tmp").rsplit("-", 2), ""]
    if host.endswith(f".{socket.gethostname()}") and process.isdigit():
        return not is_running(int(process))
    try:
        return time.time() - path.stat().st_mtime > ABANDONED
    except FileNotFoundError:  # its process has just finished it
        return False


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _swap(temporary: Path, path: Path) -> None:
    """Put one folder in the place of another. A folder cannot be renamed over a full one: the old one steps aside."""
    aside = _temporary(path.with_name(f"{path.name}.old"), path.parent)
    if path.is_symlink() or path.is_file():
        path.unlink()
    if path.exists():
        path.rename(aside)
    temporary.rename(path)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def named_when_full(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise DiskFullError(
            f"no room to write {path}: {error.strerror}; no half of it was published",
            hint="free space (framescribe cache gc --max-size 10GB), then run the same command: it goes on",
        ) from error


@contextmanager
def named_when_refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_PLACE:
            raise
        raise InputError(
            f"{path} cannot be written: {error.strerror}", hint="name another place to write to"
        ) from error
