"""What killed writers leave behind is swept, what others still write is not; and how a failed write ends."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.core.atomic import ABANDONED, fresh_folder, own_name, publishing, sweep, write_json, write_text
from pipeline.core.errors import DiskFullError


def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def of_process(name: str, process: int) -> str:
    return own_name(name).replace(f"-{os.getpid()}-", f"-{process}-")


@pytest.mark.parametrize("name", ["made", "a-b", "ä.x-1-2", "[x]*"])
def test_only_what_nobody_writes_any_more_is_swept(tmp_path: Path, name: str) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / own_name(name)).touch()
        (tmp_path / of_process(name, other.pid)).mkdir()
        (tmp_path / of_process(name, ended())).touch()
        left_folder = tmp_path / of_process(name, ended())
        left_folder.mkdir()
        (left_folder / "part").touch()
        before = set(tmp_path.iterdir())

        swept = sweep(tmp_path, name=name)

        assert other.poll() is None  # asking whether it runs does not end it
        other.communicate(b"\n")
    assert len(swept) == 2
    assert set(tmp_path.iterdir()) == before - set(swept)
    assert left_folder in swept


def test_a_name_sweeps_its_own_and_no_name_sweeps_all(tmp_path: Path) -> None:
    for name in ("made", "other"):
        (tmp_path / of_process(name, ended())).touch()
    (tmp_path / "made.txt").touch()

    assert [path.name.split(".")[1] for path in sweep(tmp_path, name="made")] == ["made"]
    assert [path.name.split(".")[1] for path in sweep(tmp_path)] == ["other"]
    assert [path.name for path in tmp_path.iterdir()] == ["made.txt"]


@pytest.mark.parametrize(("hours", "goes"), [(0.1, False), (24, False), (24.001, True)])
def test_what_another_machine_wrote_goes_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: float, goes: bool
) -> None:
    path = tmp_path / f".made.elsewhere-{ended()}-7.tmp"
    path.touch()
    os.utime(path, (1_700_000_000, 1_700_000_000))
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000 + hours * 3600)

    assert ABANDONED == 86400
    assert bool(sweep(tmp_path)) == goes
    assert path.exists() != goes


def test_a_link_to_a_folder_is_replaced_and_what_it_led_to_stays(tmp_path: Path) -> None:
    with fresh_folder(tmp_path / "kept", known_by="about.txt") as folder:
        write_text(folder / "about.txt", "old")
    (tmp_path / "made").symlink_to(tmp_path / "kept")

    with fresh_folder(tmp_path / "made", known_by="about.txt") as folder:
        write_text(folder / "about.txt", "new")

    assert [(tmp_path / name / "about.txt").read_text() for name in ("kept", "made")] == ["old", "new"]
    assert not (tmp_path / "made").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "made"]


def failing_write(path: Path, number: int) -> None:
    with publishing(path) as temporary:
        temporary.write_text("half")
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_named_and_leaves_the_old_file(tmp_path: Path, number: int) -> None:
    write_text(tmp_path / "file", "old")

    with pytest.raises(DiskFullError, match=r"no room to write .*file"):
        failing_write(tmp_path / "file", number)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_another_failure_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output error") as failure:
        failing_write(tmp_path / "file", errno.EIO)

    assert not isinstance(failure.value, DiskFullError)
    assert list(tmp_path.iterdir()) == []


def test_records_are_sorted_indented_and_readable(tmp_path: Path) -> None:
    write_json(tmp_path / "record.json", {"b": [1], "a": "ü"})

    assert (tmp_path / "record.json").read_text() == '{\n "a": "ü",\n "b": [\n  1\n ]\n}\n'


def test_a_temporary_folder_may_be_elsewhere(tmp_path: Path) -> None:
    with publishing(tmp_path / "out" / "file", temporary_folder=tmp_path / "unfinished") as temporary:
        assert temporary.parent == tmp_path / "unfinished"
        temporary.write_text("new")

    assert (tmp_path / "out" / "file").read_text() == "new"
    assert list((tmp_path / "unfinished").iterdir()) == []
