"""One open file that is hashed and then decoded: a path that is replaced in between cannot matter.

A change of the file itself shows in its status. Clocks of file systems are coarse, so a change that is younger than
`RACY` when reading begins could be followed by one that looks the same: such a file is hashed once more at the end.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pipeline.core import DecodeError
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile, opened
from pipeline.remote import at_hand

BLOCK = 1 << 20
RACY = 2.0  # seconds, the coarsest clock of a file system in use (FAT)


@dataclass(frozen=True)
class HeldVideo:
    file: OpenedFile
    sha256: str
    seconds: float  # the time limit of hashing
    is_copy: bool  # fetched from a URL: nobody writes into it, but other readers of it change its links
    before: os.stat_result
    began: float  # by the clock, when `before` was taken

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around all decoding: nothing that is learned from the file, good or bad, may be kept before this ends."""
        try:
            yield
        except DecodeError:
            self.require_unchanged()  # which would be the better reason
            raise
        self.require_unchanged()

    def require_unchanged(self) -> None:
        now = os.fstat(self.file.descriptor)
        if self._mark(now) != self._mark(self.before) or (self._is_racy() and self._other_content()):
            stated = f"'{self.file.path}' changed while it was read"
            raise DecodeError("changed", stated, hint="run the same command again once the file stays as it is")

    def _mark(self, status: os.stat_result) -> tuple[int, ...]:
        mark = (status.st_size, status.st_mtime_ns)
        return mark if self.is_copy else (*mark, status.st_ctime_ns)

    def _other_content(self) -> bool:
        return sha256_of(self.file, seconds=self.seconds) != self.sha256

    def _is_racy(self) -> bool:
        return not self.is_copy and self.began - self.before.st_ctime < RACY


@contextmanager
def held(path: str, *, limits: Limits) -> Iterator[HeldVideo]:
    """The file or URL at `path`, open and hashed, to be decoded within `reading`."""
    with at_hand(path) as local, opened(local) as found:
        file = replace(found, path=path)
        began, before = time.time(), os.fstat(file.descriptor)
        sha256 = sha256_of(file, seconds=limits.timeout)
        yield HeldVideo(file, sha256, limits.timeout, is_copy=local != path, before=before, began=began)


def sha256_of(file: OpenedFile, *, seconds: float) -> str:
    """Of all bytes from the first on, within a time limit; the descriptor's own position is left alone."""
    digest, block, position = hashlib.sha256(), memoryview(bytearray(BLOCK)), 0
    end = time.monotonic() + seconds
    try:
        while count := os.preadv(file.descriptor, [block], position):
            digest.update(block[:count])
            position += count
            if time.monotonic() > end:
                stated = f"'{file.path}' could not be hashed in {seconds:g} s: {position >> 20} MB were read"
                raise DecodeError("timeout", stated, hint="raise decode.timeout in params.yaml")
    except OSError as error:
        raise DecodeError("unreadable", f"'{file.path}': {error.strerror}") from error
    return digest.hexdigest()
