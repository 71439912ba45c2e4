"""The feature cache: safe to delete, safe to damage, shared, and kept small by `gc`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.cache.feature_cache import (
    DAY,
    clear_unfinished,
    collect,
    entries,
    entry_path,
    get_features,
    graph_path,
    put_features,
)
from pipeline.cache.graph_cache import remembered
from pipeline.cli import main
from pipeline.commands.cache import bytes_of
from pipeline.core.errors import UsageError
from pipeline.core.hashing import record_sha256
from pipeline.store import TensorFile
from tests.store.making import features


def test_what_was_put_comes_back() -> None:
    put_features("ab12", features(1), record={"video": "x"})
    cached = get_features("ab12")

    assert cached is not None
    for name, array in features(1).parts().items():
        np.testing.assert_array_equal(cached.parts()[name], array)
    assert get_features("ff00") is None


def test_an_entry_with_any_changed_byte_counts_as_absent() -> None:
    put_features("ab12", features(1))
    path = entry_path("ab12")
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        assert get_features("ab12") is None, place
    path.write_bytes(data[:-5])
    assert get_features("ab12") is None
    path.write_bytes(b"")
    assert get_features("ab12") is None

    put_features("ab12", features(1))
    assert get_features("ab12") is not None


def test_equal_features_are_equal_bytes() -> None:
    put_features("aa", features(1), record={"b": 1, "a": 2})
    put_features("bb", features(1), record={"a": 2, "b": 1})

    assert entry_path("aa").read_bytes() == entry_path("bb").read_bytes()


def test_an_entry_says_what_its_key_is_the_hash_of() -> None:
    put_features("ab12", features(1), record={"video": "x"})

    assert json.loads(TensorFile(entry_path("ab12")).metadata["record"]) == {"video": "x"}


def test_writers_of_one_entry_do_not_disturb_each_other(own_cache: Path) -> None:
    code = (
        "from tests.store.making import features; from pipeline.cache.feature_cache import put_features, get_features\n"
    )
    code += "for _ in range(40): put_features('ab12', features(7)); assert get_features('ab12') is not None"
    writers = [subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) for _ in range(3)]

    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(entries()) == 1
    assert list((own_cache / "features/unfinished").iterdir()) == []


def make_entries(ages: dict[str, float]) -> None:
    for key, days in ages.items():
        put_features(key, features(1))
        os.utime(entry_path(key), (time.time() - days * DAY,) * 2)


def test_gc_by_age_and_by_size() -> None:
    make_entries({"aa": 40, "bb": 20, "cc": 10, "dd": 1})

    removed, kept = collect(keep_days=30)
    assert [entry.path.stem for entry in removed] == ["aa"]
    one = kept[0].bytes
    removed, _ = collect(max_bytes=2 * one, pretend=True)
    assert [entry.path.stem for entry in removed] == ["bb"]
    assert len(entries()) == 3
    collect(max_bytes=2 * one)
    assert {entry.path.stem for entry in entries()} == {"cc", "dd"}


def test_use_keeps_an_entry() -> None:
    make_entries({"aa": 40})
    get_features("aa")

    assert collect(keep_days=30)[0] == []


def test_gc_counts_exported_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    make_entries({"aa": 40, "bb": 1})
    graphs = {days: {"network": days} for days in (50, 35, 2)}
    for days, record in graphs.items():
        remembered(record, lambda: bytes(5000))
        os.utime(graph_path(record_sha256(record)), (time.time() - days * DAY,) * 2)
    remembered(graphs[35], lambda: pytest.fail("made again"))  # its use is today's

    assert main(["cache", "status"]) == 0
    told = capsys.readouterr().out
    assert "2 entries" in told
    assert "3 exported graphs" in told
    assert "leaves it alone" not in told
    removed, kept = collect(keep_days=30)
    assert [entry.kind for entry in removed] == ["graphs", "features"]
    assert sum(entry.kind == "graphs" for entry in kept) == 2
    assert [entry.kind for entry in collect(max_bytes=0)[0]] == ["graphs", "features", "graphs"]


def test_unfinished_entries_of_dead_processes_are_cleared(own_cache: Path) -> None:
    put_features("aa", features(1))
    workshop = own_cache / "features/unfinished"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = workshop / f".x.safetensors.{socket.gethostname()}-{ended.pid}-7.tmp"
    alive = workshop / f".y.safetensors.{socket.gethostname()}-{os.getpid()}-7.tmp"
    elsewhere = workshop / ".z.safetensors.otherhost-1-7.tmp"
    for path in (dead, alive, elsewhere):
        path.write_bytes(b"half")

    assert clear_unfinished() == [dead]
    os.utime(elsewhere, (0, 0))
    assert clear_unfinished() == [elsewhere]
    assert list(workshop.iterdir()) == [alive]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    make_entries({"aa": 40, "bb": 1})

    assert main(["cache", "status"]) == 0
    assert "2 entries" in capsys.readouterr().out
    assert main(["cache", "gc", "--keep-days", "-30"]) == 2  # not everything
    assert main(["cache", "gc", "--keep-days", "30", "--dry-run"]) == 0
    assert "would remove 1 entries" in capsys.readouterr().out
    assert main(["cache", "gc", "--keep-days", "30"]) == 0
    assert "removed 1 entries" in capsys.readouterr().out
    assert main(["cache", "gc", "--max-size", "0"]) == 0
    assert entries() == []
    assert main(["cache", "gc"]) == 2
    assert "--keep-days" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "size"), [("10GB", 10**10), ("1.5 mb", 1_500_000), ("7", 7), ("2K", 2000)])
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size


def test_a_size_that_is_none() -> None:
    with pytest.raises(UsageError, match="'ten' is not a size"):
        bytes_of("ten")
