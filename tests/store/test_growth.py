"""One more video writes the shard that it lies in; the others come back as they are, and damaged ones never."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.cache import entry_path, put_features
from pipeline.cache.feature_cache import CacheEntry, collect, entries
from pipeline.cli import main
from pipeline.core import atomic, linking
from pipeline.extraction.planned_rows import frame_rows, row_table
from pipeline.extraction.task import make_task
from pipeline.index import VideoRow, write_index
from pipeline.store import VideoFeatures, manifest, open_store, shard_name, shard_of
from pipeline.store_tools.verify_store import repair, verify
from tests.store.making import content, extracted, toy

PARAMS = toy(outputs=["colour"], sampling={"count": 2})
TIMES = np.arange(10) / 10


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small files are made, and no power is cut; files are linked as on ext4, which cannot clone."""
    monkeypatch.setattr(atomic, "_sync", lambda _: None)
    monkeypatch.setattr(linking, "_cloned", lambda *_: False)


def row_of(number: int) -> VideoRow:
    """A video that only the index knows."""
    facts: dict[str, Any] = {"width": 4, "height": 4, "fps": 10.0, "duration": 1.0, "audio": "absent"}
    sha256 = hashlib.sha256(str(number).encode()).hexdigest()
    return VideoRow(f"video{number}", f"videos/{number}.mp4", sha256, 10, backend="pyav", warnings=(), **facts)


def made_index(folder: Path, numbers: range, *, size: int = 3) -> Path:
    """Of videos whose features are in the cache: what an extraction costs besides extracting."""
    rows = [row_of(number) for number in numbers]
    write_index(folder, rows, times={row.id: TIMES for row in rows})
    task = make_task("toy", PARAMS, weights_sha256="random", device="cpu")
    for row in rows:
        if not entry_path(key := task.key_of(row)).exists():
            table = row_table(frame_rows(task, row=row, times=TIMES))
            colour = np.full((2, size), int(row.id.removeprefix("video")), np.float32)
            put_features(key, VideoFeatures(tensors={"colour": colour}, rows=table))
    return folder


class Opened:
    """Files that are opened while it listens, with the bytes that they have then, or end up with."""

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()  # file -> bytes, each time that it is opened
        self.written: set[str] = set()
        self.listens = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.listens or event != "open" or not isinstance(arguments[1], str):
            return
        path, mode = os.fspath(arguments[0]), arguments[1]
        if isinstance(path, int):
            return
        if "r" in mode:
            self.read[str(path)] += Path(path).stat().st_size if Path(path).is_file() else 0
        else:
            self.written.add(str(path))

    @contextmanager
    def listening(self) -> Iterator[None]:
        self.read.clear()
        self.written.clear()
        self.listens = True
        yield
        self.listens = False


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


def inodes(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in store.iterdir()}


def grown(tmp_path: Path, opened: Opened, count: int, *, size: int = 3) -> tuple[Path, dict[str, int]]:
    """The store after one more video, and what that took: files of shards and entries, and bytes."""
    store, index = tmp_path / f"store{count}", tmp_path / f"index{count}"
    extracted(made_index(index, range(count), size=size), store, params=PARAMS)
    before = inodes(store)
    shutil.rmtree(store)  # as DVC does
    made_index(index, range(count + 1), size=size)
    with opened.listening():
        done = extracted(index, store, params=PARAMS)
    assert (done["videos"], done["computed"]) == (count + 1, 0)
    after = inodes(store)
    new = [name for name in after if after[name] != before.get(name)]
    shards = [name for name in opened.read if "/shards/" in name and name.endswith(".safetensors")]
    features = {name: size for name, size in opened.read.items() if "/cache/features/" in name}
    return store, {
        "shards": len(new) - 1,  # and store.json
        "written": sum((store / name).stat().st_size for name in new),
        "shards read": len(shards),
        "entries read": len(features),
        "entry bytes": sum(features.values()),
    }


def test_one_more_video_costs_its_shard(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    """Counted in files and bytes, with few videos a shard; the same whether there are 100 others or 300."""
    monkeypatch.setattr(manifest, "VIDEOS_A_SHARD", 4)
    costs = {}
    for count in (100, 300):
        store, costs[count] = grown(tmp_path, opened, count)
        members = [name for name in open_store(store) if shard_of(name, 256) == shard_of(f"video{count}", 256)]
        assert costs[count]["entries read"] == len(members)
        assert costs[count]["entry bytes"] <= len(members) * 5 * entry_bytes(own_cache)  # looked at, described, copied
        assert verify(store) == []
    assert all((cost["shards"], cost["shards read"]) == (1, 0) for cost in costs.values())

    shutil.rmtree(own_cache)
    extracted(made_index(tmp_path / "again", range(301)), tmp_path / "once", params=PARAMS)
    assert content(tmp_path / "once") == content(tmp_path / "store300")


def entry_bytes(cache: Path) -> int:
    return next(cache.glob("features/??/*")).stat().st_size


@pytest.mark.slow
def test_one_more_of_ten_thousand_writes_less_than_a_hundredth(tmp_path: Path, opened: Opened) -> None:
    """Vectors as MobileNet's of twelve frames: 61 kB a video."""
    store, cost = grown(tmp_path, opened, 10_000, size=6 * 1280)
    written = cost["written"]

    assert written < sum(path.stat().st_size for path in store.iterdir()) / 100
    assert cost["shards"] == 1


def test_nothing_to_do_reads_no_features(tmp_path: Path, opened: Opened) -> None:
    index = made_index(tmp_path / "index", range(40))
    extracted(index, tmp_path / "store", params=PARAMS)
    before = inodes(tmp_path / "store")
    with opened.listening():
        extracted(index, tmp_path / "store", params=PARAMS)

    assert [name for name in opened.read if name.endswith(".safetensors")] == []
    assert all(inodes(tmp_path / "store")[name] == number for name, number in before.items() if "shard" in name)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """An index of forty videos, and their store."""
    index = made_index(tmp_path / "index", range(40))
    extracted(index, tmp_path / "store", params=PARAMS)
    return index, tmp_path / "store"


@pytest.mark.parametrize("way", ["in place", "as DVC leaves it"])
def test_a_shard_that_was_changed_in_place_is_written_anew(made: tuple[Path, Path], way: str) -> None:
    """A store's shard may be the cache's own file."""
    index, store = made
    before = content(store)
    shard = next(store.glob("shard-*"))
    if way != "in place":
        shard.chmod(0o444)  # of a hard link, of all its names
        shard.chmod(0o644)
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    assert verify(store)

    extracted(index, store, params=PARAMS)

    assert content(store) == before
    assert verify(store) == []


def test_damage_that_leaves_no_trace_is_found_and_repaired(made: tuple[Path, Path]) -> None:
    """With its size and time as they were only its check values tell: `verify` looks at them, and so does a reader."""
    index, store = made
    before = content(store)
    shard = next(store.glob("shard-*"))
    facts = shard.stat()
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    os.utime(shard, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    extracted(index, store, params=PARAMS)
    assert {problem.where.partition(":")[0] for problem in verify(store)} == {shard.name}
    assert repair(store)
    extracted(index, store, params=PARAMS)

    assert content(store) == before
    assert verify(store) == []


def test_a_cache_that_was_moved_is_looked_at_once(
    made: tuple[Path, Path], own_cache: Path, opened: Opened, tmp_path: Path
) -> None:
    index, store = made
    shutil.copytree(own_cache, tmp_path / "moved")
    shutil.rmtree(own_cache)
    (tmp_path / "moved").rename(own_cache)
    looked = []
    for _ in range(2):
        with opened.listening():
            extracted(index, store, params=PARAMS)
        looked.append(sum("/shards/" in name and name.endswith(".safetensors") for name in opened.read))

    assert looked == [len(list(store.glob("shard-*"))), 0]


@pytest.mark.parametrize("lacks", [["_cloned"], ["_cloned", "_linked"]])
def test_a_file_system_without_links_gets_copies(
    tmp_path: Path, lacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in lacks:
        monkeypatch.setattr(linking, name, lambda *_: False)
    (tmp_path / "one").write_bytes(b"bytes")
    linking.link_file(tmp_path / "one", tmp_path / "two")

    assert (tmp_path / "two").read_bytes() == b"bytes"
    assert (tmp_path / "one").samefile(tmp_path / "two") == ("_linked" not in lacks)


def test_a_clone_where_there_is_one_leaves_nothing_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (tmp_path / "one").write_bytes(b"bytes")
    linking.link_file(tmp_path / "one", tmp_path / "two")

    assert (tmp_path / "two").read_bytes() == b"bytes"
    with pytest.raises(FileNotFoundError):
        linking.link_file(tmp_path / "none", tmp_path / "three")
    assert not (tmp_path / "three").exists()


@pytest.mark.slow
def test_dvc_keeps_unchanged_shards_as_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store, DVC's cache and ours: one file on the disk, read-only, which nobody writes to."""
    monkeypatch.chdir(tmp_path)

    def dvc(*arguments: str) -> None:
        subprocess.run([sys.executable, "-m", "dvc", *arguments, "--quiet"], check=True)

    dvc("init", "--no-scm")
    dvc("config", "cache.type", "hardlink,reflink,copy")
    stores = []
    for count in (40, 41):
        shutil.rmtree("store", ignore_errors=True)
        extracted(made_index(Path("index"), range(count)), Path("store"), params=PARAMS)
        dvc("add", "store")
        stores.append({path.name: path.stat() for path in Path("store").glob("shard-*")})
    one, two = stores
    kept = [name for name in two if name in one and one[name].st_ino == two[name].st_ino]

    assert len(kept) == len(two) - 1
    assert {two[name].st_nlink for name in two} == {3}
    assert {two[name].st_mode & 0o222 for name in two} == {0}
    assert verify(Path("store")) == []


def test_rows_that_the_index_changed_are_other_shards(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Presentation times are no part of a video's key; the shard that was made of other times is not used."""
    index, store = made
    rows = [row_of(number) for number in range(40)]
    write_index(index, rows, times={row.id: TIMES * (2 if row.id == "video7" else 1) for row in rows})

    done = extracted(index, store, params=PARAMS.model_copy(update={"max_failed": 1}))

    assert done["failures"] == {"video7": "missing"}  # it would be computed again, but there is no such file


def shards() -> list[CacheEntry]:
    return [entry for entry in entries() if entry.kind == "shards"]


def test_gc_counts_shards(made: tuple[Path, Path], own_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a store has as well takes no room of its own; without the store, it does."""
    _, store = made
    count, notes = len(list(store.glob("shard-*"))), sum(entry.bytes for entry in shards())
    assert main(["cache", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shards"] == {"entries": count, "bytes": notes}
    shutil.rmtree(store)
    assert sum(entry.bytes for entry in shards()) > notes

    half = shards()[0].path
    half.unlink()  # as a kill between the two files leaves it
    assert len(shards()) == count
    collect(max_bytes=0)
    assert list(own_cache.glob("shards/??/*")) == []


def test_a_shard_in_use_is_not_collected(made: tuple[Path, Path]) -> None:
    index, store = made
    for entry in entries():
        os.utime(entry.path, (0, 0))
    extracted(index, store, params=PARAMS)

    assert collect(keep_days=30)[0] == []


def test_names_are_of_any_bytes(tmp_path: Path) -> None:
    strange = row_of(1).__class__(**{**row_of(1).__dict__, "id": os.fsdecode(b"v\xff/1")})
    made_index(tmp_path / "index", range(2))
    write_index(tmp_path / "index", [strange], times={strange.id: TIMES})
    for _ in range(2):
        extracted(tmp_path / "index", tmp_path / "store", params=PARAMS)

    assert list(open_store(tmp_path / "store")) == [strange.id]
    assert (tmp_path / "store" / shard_name(shard_of(strange.id))).exists()
