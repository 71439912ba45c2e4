"""A full disk, at every write of a run in turn: a clear message, nothing published, and the next run goes on."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import DiskFullError
from pipeline.store import open_store, write_store
from tests.store.making import content, extracted, features, index_of


class FaultyDisk:
    """Opens files as usual; the n-th write on it finds no room, with half of its bytes written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1  # writes until the disk is full; below 0: never
        self.open, self.sync = io.open, os.fsync
        monkeypatch.setattr(io, "open", self.opened)
        monkeypatch.setattr(os, "fsync", self.synced)

    def spend(self) -> None:
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1

    def opened(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        stream = self.open(file, mode, *args, **kwargs)
        if "w" in mode and "b" in mode:
            write = stream.write

            def faulty(data: Any) -> int:
                if self.left == 0:
                    write(memoryview(data).cast("B")[: len(data) // 2])
                self.spend()
                return write(data)

            return _Stream(stream, faulty)
        return stream

    def synced(self, descriptor: int) -> None:
        self.spend()
        self.sync(descriptor)


class _Stream:
    def __init__(self, stream: Any, write: Any) -> None:
        self._stream, self.write = stream, write

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> FaultyDisk:
    return FaultyDisk(monkeypatch)


def attempt(index: Path, out: Path) -> str:
    """The message of a run that found no room; nothing when it ended well."""
    try:
        extracted(index, out)
    except DiskFullError as error:
        return str(error)
    return ""


def test_no_room_at_any_write(clips: Path, tmp_path: Path, faulty: FaultyDisk) -> None:
    """A run makes some 80 writes and syncs; each of them is once the one that fails."""
    index = index_of(clips, tmp_path / "index")
    extracted(index, tmp_path / "reference")
    reference = content(tmp_path / "reference")
    entries = sorted((tmp_path / "cache/features").glob("??/*"))
    for number in range(1000):
        entries[number % len(entries)].unlink(missing_ok=True)  # so that there is always something to compute
        shutil.rmtree(tmp_path / "cache/shards", ignore_errors=True)  # and to write
        faulty.left = number
        message = attempt(index, tmp_path / "store")
        if not message:
            break
        assert "No space left on device; no half of it was published" in message
        assert "framescribe cache gc" in message
        published = (tmp_path / "store").exists()  # the last write of all is the sync of the folder it is in
        assert not published or content(tmp_path / "store") == reference
        assert not list(tmp_path.glob(".store*"))
    assert number > 50
    assert content(tmp_path / "store") == reference
    assert not list((tmp_path / "cache/features/unfinished").iterdir())


def test_the_old_store_stays_when_there_is_no_room_for_the_new(clips: Path, tmp_path: Path, faulty: FaultyDisk) -> None:
    write_store(tmp_path / "store", {"a": features(1)}, fingerprint={})
    before = content(tmp_path / "store")
    for number in range(8):
        faulty.left = number
        with pytest.raises(DiskFullError):
            write_store(tmp_path / "store", {"a": features(2), "b": features(3)}, fingerprint={})
        faulty.left = -1
        assert content(tmp_path / "store") == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a file system needs rights that this user has not; the faulty disk shows the same")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_really_full_disk(clips: Path, tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(clips, tmp_path / "index")
    extracted(index, tmp_path / "reference")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(small_disk / "cache"))
    ballast = small_disk / "ballast"
    for free in range(4096, 200_000, 16384):  # a little more room each time
        ballast.write_bytes(b"")
        with ballast.open("wb") as stream:
            stream.write(b"x" * max(0, _free(small_disk) - free))
        if not attempt(index, small_disk / "store"):
            break
        assert not (small_disk / "store").exists()
    assert content(small_disk / "store") == content(tmp_path / "reference")
    assert len(open_store(small_disk / "store")) == 8


def _free(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize
