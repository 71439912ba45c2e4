"""A file that nobody touched is not read again; one that somebody touched is, however well the touch is hidden."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pipeline.core import Console, file_sha256
from pipeline.decoding import decode_cache, hash_memory, held_video, listed_videos
from pipeline.decoding.decode import decode_videos
from pipeline.decoding.hash_memory import HashMemory, is_settled, mark_of
from pipeline.decoding.spooled_times import SpooledTimes
from pipeline.index import read_index
from pipeline.params import Decode
from tests.clips import write_clip

NOON = 1_700_000_000


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Of videos that differ and are equally long."""
    folder = tmp_path_factory.mktemp("contents")
    whole = [write_clip(folder / f"{n}.mp4", frames=n, width=32, height=32).read_bytes() for n in (3, 4)]
    size = max(map(len, whole)) + 8
    return [data + (size - len(data)).to_bytes(4, "big") + b"free".ljust(size - len(data) - 4, b"\0") for data in whole]


@pytest.fixture
def videos(tmp_path: Path, contents: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files that were written long ago, as far as the rule can tell."""
    monkeypatch.setattr(hash_memory, "RACY", -1.0)
    monkeypatch.setattr(held_video, "RACY", -1.0)
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.mp4").write_bytes(contents[0])
    return folder


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of videos, to hash them; and -1 for each that is decoded."""
    counts: list[int] = []
    read, inspect = os.preadv, decode_cache.inspect_video

    def counted(*given: Any) -> int:
        counts.append(read(*given))
        return counts[-1]

    monkeypatch.setattr(os, "preadv", counted)
    monkeypatch.setattr(
        decode_cache, "inspect_video", lambda *given, **more: counts.append(-1) or inspect(*given, **more)
    )
    return counts


def decoded(videos: Path, **more: Any) -> dict[str, bytes]:
    out = videos.with_name("index")
    decode_videos(videos=videos, out=out, params=Decode(), console=Console(quiet=True), **more)
    rows = read_index(out).rows.values()
    assert {row.path: row.sha256 for row in rows} == {row.path: file_sha256(Path(row.path)) for row in rows}
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.parametrize("others", [1, 10])
def test_one_more_video_costs_one_video(
    others: int, videos: Path, contents: list[bytes], bytes_read: list[int]
) -> None:
    for number in range(others):
        (videos / f"other{number}.mp4").write_bytes(contents[0])
    first = decoded(videos)
    bytes_read.clear()
    assert decoded(videos) == first
    assert bytes_read == [], "nothing changed, nothing is read"
    (videos / "new.mp4").write_bytes(contents[1])
    decoded(videos)
    assert [count for count in bytes_read if count] == [len(contents[1]), -1]


def test_verify_hashes_all_and_decodes_none(videos: Path, contents: list[bytes], bytes_read: list[int]) -> None:
    first = decoded(videos)
    bytes_read.clear()
    assert decoded(videos, verify=True) == first
    assert [count for count in bytes_read if count] == [len(contents[0])] * 3
    bytes_read.clear()
    decoded(videos)
    assert bytes_read == []


def in_place(path: Path, content: bytes) -> None:
    with path.open("r+b") as stream:
        stream.write(content)


def by_rename(path: Path, content: bytes) -> None:
    other = path.with_name(".other")
    other.write_bytes(content)
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.rename(path)


def copied_over(path: Path, content: bytes) -> None:
    other = path.with_name(".other")
    other.write_bytes(content)
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    shutil.copy2(other, path)


@pytest.mark.parametrize("change", [in_place, by_rename, copied_over])
def test_other_content_of_the_same_size_and_time_is_read(
    change: Callable[[Path, bytes], None], videos: Path, contents: list[bytes]
) -> None:
    decoded(videos)
    path = videos / "b.mp4"
    before = path.stat()
    change(path, contents[1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    now = path.stat()
    assert (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    decoded(videos)
    assert read_index(videos.with_name("index")).rows["b"].frames == 4


@pytest.mark.parametrize(("age", "remembered"), [(1.0, False), (2.5, True)])
def test_a_change_in_the_tick_in_which_a_file_was_hashed(
    age: float,
    remembered: bool,
    videos: Path,
    contents: list[bytes],
    bytes_read: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a file system whose clock stands still meanwhile, so that the status is the same afterwards."""

    def coarse(status: os.stat_result) -> tuple[int, ...]:
        return status.st_dev, status.st_ino, status.st_size, NOON * 10**9, NOON * 10**9

    for module in (hash_memory, decode_cache):
        monkeypatch.setattr(module, "as_mark", coarse)
    monkeypatch.setattr(hash_memory, "RACY", 2.0)
    monkeypatch.setattr(listed_videos, "time", SimpleNamespace(time=lambda: NOON + age))
    decoded(videos)
    bytes_read.clear()
    if remembered:  # two seconds later no file system gives that time again
        decoded(videos)
        assert bytes_read == []
        return
    in_place(videos / "b.mp4", contents[1])
    decoded(videos)
    assert read_index(videos.with_name("index")).rows["b"].frames == 4


def test_what_is_settled() -> None:
    old = (1, 2, 3, NOON * 10**9, NOON * 10**9)
    assert is_settled(old, seen=NOON + 2.1)
    assert not is_settled(old, seen=NOON + 2.0)
    assert not is_settled((1, 2, 3, 0, NOON * 10**9), seen=NOON + 1.0), "its mtime was set back"
    assert not is_settled((1, 2, 3, NOON * 10**9, 0), seen=NOON + 1.0), "a file system without ctime"
    assert not is_settled(old, seen=NOON - 60.0), "its clock is ahead"
    assert not is_settled((), seen=NOON)


def test_only_the_file_that_was_opened_is_remembered(videos: Path) -> None:
    """A link that leads elsewhere while its file is hashed, and back again, has its former mark."""
    one, other = mark_of(videos / "a.mp4"), mark_of(videos / "b.mp4")
    elsewhere = (one[0] + 7, *one[1:])  # the same file, mounted on a worker's machine
    for hashed, known in ((other, None), (elsewhere, "ab"), (one, "ab")):
        memory = HashMemory(videos, hashed)
        memory.remember("a", one, "ab", hashed=hashed, seen=2**40)
        memory.save()
        assert HashMemory(videos, hashed).sha256("a", one) == known
        assert HashMemory(videos, hashed).sha256("a", other) is None
        assert HashMemory(videos, hashed).sha256("a", ()) is None


def test_a_forgotten_examination_is_made_again(videos: Path, tmp_path: Path, bytes_read: list[int]) -> None:
    first = decoded(videos)
    for entry in decode_cache.cache_folder("decode").rglob("*.json"):
        entry.unlink()
    bytes_read.clear()
    assert decoded(videos) == first
    assert bytes_read.count(-1) == 1, "three files of one content"


@settings(max_examples=20)
@given(st.dictionaries(st.text(max_size=3), st.lists(st.floats(0, 1e9), max_size=5), max_size=5), st.randoms())
def test_times_wait_on_disk_in_any_order(times: dict[str, list[float]], random: Any) -> None:
    spooled = SpooledTimes()
    for name in random.sample(list(times), len(times)):
        spooled.add(name, times[name])
    assert {name: spooled[name].tolist() for name in times} == times
    assert (len(spooled), set(spooled)) == (len(times), set(times))
    assert all(spooled[name].dtype == np.float64 for name in spooled)
