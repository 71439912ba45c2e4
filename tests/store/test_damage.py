"""No damage goes unseen: by `verify`, by a reader before it returns an array, and also when DVC sees none."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import DamageError, InputError
from pipeline.store import Failure, open_store, write_store
from pipeline.store_tools.verify_store import repair, verify
from tests.store.making import content, features

VIDEOS = {f"video{number}": features(number, rows=number + 1, columns=400) for number in range(6)}
FLIPS, TRUNCATIONS = 1000, 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_store(tmp_path / "store", VIDEOS, fingerprint={"weights": "random"}, failures={"bad": Failure("crash")})
    return tmp_path / "store"


def read_everything(folder: Path) -> None:
    """What a user's program does; it must stop before it has one wrong number."""
    store = open_store(folder)
    for video_id, video in VIDEOS.items():
        for name, array in store[video_id].parts().items():
            np.testing.assert_array_equal(array, video.parts()[name])


def require_seen(folder: Path, what: str) -> None:
    assert verify(folder), f"verify does not see {what}"
    with pytest.raises(DamageError):
        read_everything(folder)


def flips(path: Path, count: int, numbers: random.Random) -> Iterator[str]:
    """The file with one bit changed, again and again; whole at the end."""
    data = path.read_bytes()
    for _ in range(count):
        changed = bytearray(data)
        place, bit = numbers.randrange(len(data)), numbers.randrange(8)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        yield f"bit {bit} of byte {place} of {path.name}"
    path.write_bytes(data)


def test_a_thousand_flipped_bits_are_all_seen(folder: Path) -> None:
    numbers = random.Random(0)
    files = sorted(folder.iterdir())
    for path in files:
        for what in flips(path, -(-FLIPS // len(files)), numbers):
            require_seen(folder, what)
    assert verify(folder) == []
    read_everything(folder)


def test_every_bit_of_the_places_where_structure_is_told(folder: Path) -> None:
    """The length of a header and its first bytes, and those of store.json: all of them, not a sample."""
    for path in (folder / "store.json", next(folder.glob("shard-*"))):
        data = path.read_bytes()
        for place in range(100):
            path.write_bytes(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
            require_seen(folder, f"byte {place} of {path.name}")
        path.write_bytes(data)


def test_a_hundred_truncations_are_all_seen(folder: Path) -> None:
    numbers = random.Random(1)
    files = sorted(folder.iterdir())
    for number in range(TRUNCATIONS):
        path = files[number % len(files)]
        data = path.read_bytes()
        keep = 0 if number < len(files) else numbers.randrange(len(data))
        path.write_bytes(data[:keep])
        require_seen(folder, f"{path.name} cut to {keep} of {len(data)} bytes")
        path.write_bytes(data)
    assert verify(folder) == []


def test_added_bytes_missing_extra_and_exchanged_shards_are_seen(folder: Path, tmp_path: Path) -> None:
    shard, other = sorted(folder.glob("shard-*"))[:2]
    kept = shard.read_bytes()

    shard.write_bytes(kept + b"\0")
    require_seen(folder, "an added byte")
    shard.unlink()
    require_seen(folder, "a missing shard")
    shard.write_bytes(other.read_bytes())
    require_seen(folder, "another shard in its place")
    write_store(tmp_path / "twin", VIDEOS | {"video0": features(99, rows=1, columns=400)}, fingerprint={})
    shard.write_bytes(kept)
    for path in (tmp_path / "twin").glob("shard-*"):
        shutil.copy(path, folder)
    require_seen(folder, "a shard of another store")


def test_a_stray_file_is_seen(folder: Path) -> None:
    (folder / "shard-0099.safetensors").write_bytes(b"")

    assert [problem.where for problem in verify(folder)] == ["shard-0099.safetensors"]


def test_only_what_is_read_is_checked_and_only_once(folder: Path) -> None:
    """The cheap check: a damaged tensor does not keep a reader from the others."""
    shard = next(path for path in folder.glob("shard-*") if b"video3/pool" in path.read_bytes())
    data = bytearray(shard.read_bytes())
    place = bytes(data).index(VIDEOS["video3"]["grid"].tobytes()[:16])
    data[place] ^= 1
    shard.write_bytes(data)
    video = open_store(folder)["video3"]

    np.testing.assert_array_equal(video["pool"], VIDEOS["video3"]["pool"])
    with pytest.raises(DamageError, match="the bytes of 'video3/grid' changed"):
        video["grid"]
    (problem,) = verify(folder)
    assert problem.videos == ("video3",)


def test_a_wrong_row_table_is_seen_though_its_bytes_are_whole(tmp_path: Path) -> None:
    video = features(1)
    video.rows.start[:] = video.rows.start[::-1].copy()
    write_store(tmp_path / "store", {"a": video}, fingerprint={})

    assert "goes back in time" in verify(tmp_path / "store")[0].what


def test_repair_keeps_what_is_whole_and_queues_the_rest(folder: Path) -> None:
    shard = next(path for path in folder.glob("shard-*") if b"video3/pool" in path.read_bytes())
    data = bytearray(shard.read_bytes())
    data[bytes(data).index(VIDEOS["video3"]["pool"].tobytes()[:16])] ^= 1
    shard.write_bytes(data)

    assert repair(folder) == ["video3"]
    assert verify(folder) == []
    store = open_store(folder)
    assert set(store) == VIDEOS.keys() - {"video3"}
    assert (store.failure("video3").reason, store.failure("bad").reason) == ("damaged", "crash")
    assert repair(folder) == []


def test_repair_removes_a_store_whose_description_is_damaged(folder: Path) -> None:
    (folder / "store.json").write_bytes((folder / "store.json").read_bytes()[:-9])

    assert repair(folder) == []
    assert not folder.exists()
    with pytest.raises(InputError, match="there is no store"):
        open_store(folder)


def test_repair_of_a_whole_store_changes_nothing(folder: Path) -> None:
    before = content(folder)

    assert repair(folder) == []
    assert content(folder) == before


def test_damage_is_seen_when_dvc_says_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_store(Path("store"), VIDEOS, fingerprint={})

    def dvc(*arguments: str) -> str:
        command = [sys.executable, "-m", "dvc", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    dvc("init", "--no-scm", "--quiet")
    dvc("add", "store", "--quiet")
    shard = next(Path("store").glob("shard-*"))
    times = shard.stat()
    data = bytearray(shard.read_bytes())
    data[-3] ^= 16
    shard.chmod(0o644)
    with shard.open("r+b") as stream:
        stream.write(data)
    os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert "up to date" in dvc("status")
    require_seen(Path("store"), "a changed bit in a file whose time and size are as before")
