"""Opening a file without trusting its name or its kind: regular files only, handed on as a descriptor."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.core import DecodeError

_DESCRIPTORS = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


@dataclass(frozen=True)
class OpenedFile:
    """An open regular file: whoever reads it by its name reads the same one, whatever becomes of its path."""

    path: str  # for messages
    descriptor: int

    @property
    def name(self) -> str:
        """One that no decoder can misread as a protocol, an option or a pattern of pictures."""
        return str(_DESCRIPTORS / str(self.descriptor))


def require_regular_file(path: str) -> int:
    """The size of a regular file, from its status alone; anything else is refused unopened."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise _refusal(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "not a file")
        raise DecodeError("not-a-file", f"'{path}' is {kind}; only regular files are read")
    if status.st_size == 0:
        raise DecodeError("empty", f"'{path}' has no bytes")
    return status.st_size


@contextmanager
def opened(path: str) -> Iterator[OpenedFile]:
    require_regular_file(path)
    try:
        # not blocking: the path may have become a fifo since it was looked at
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refusal(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DecodeError("not-a-file", f"'{path}' is no longer a regular file")
        yield OpenedFile(path, descriptor)
    finally:
        os.close(descriptor)


def _refusal(path: str, error: OSError) -> DecodeError:
    if error.errno == errno.ELOOP:
        return DecodeError("not-a-file", f"'{path}' is a loop of links")
    reason = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
    return DecodeError(reason, f"'{path}': {error.strerror}")
