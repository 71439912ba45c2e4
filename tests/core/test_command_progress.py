"""Long commands tell how far they are in a small file; whoever reads it is not lied to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from pipeline.core.command_progress import KEPT, SHOWN, CommandProgress, told_progress
from pipeline.core.console import Console, ConsoleWithout
from pipeline.core.errors import InputError
from pipeline.core.sealed_file import read_sealed_json, write_sealed_json
from pipeline.core.seen_commands import read_command, read_commands, seconds_left

WORK = """
import sys, time
from pipeline.core import Console, told_progress
with told_progress("extract") as kept, Console(quiet=True, kept=kept).progress("extract a", 10) as progress:
    progress.advance(4, note="clip4")
    print("working", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").touch()
    return tmp_path


def the_file(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return path


def test_a_bar_is_told_with_its_rate_and_what_is_left(tmp_path: Path) -> None:
    now = 0.0
    told = CommandProgress("extract", tmp_path, clock=lambda: now)
    with Console(quiet=True, kept=told).progress("extract a", 10) as progress:
        now = 2.0
        progress.advance(4, note="clip4")
        seen = read_command(the_file(tmp_path))

    assert (seen.command, seen.state, seen.pid) == ("extract", "running", os.getpid())
    assert seen.bar
    assert (seen.bar.label, seen.bar.done, seen.bar.total, seen.bar.note) == ("extract a", 4, 10, "clip4")
    assert (seen.bar.rate, seen.bar.seconds, seconds_left(seen.bar)) == (2.0, 2.0, 3.0)


def test_many_steps_within_a_second_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, writes = 0.0, []
    told = CommandProgress("decode", tmp_path, clock=lambda: now)
    monkeypatch.setattr("pipeline.core.command_progress.write_sealed_json", lambda *_, **__: writes.append(now))
    monkeypatch.setattr("threading.Timer", Mock())  # its second is one of a real clock, which a busy machine may reach
    with told.bar("decode", 3000) as bar:
        for step in range(3000):
            now = step / 1000
            bar.advance()

    assert writes == [0.0, 1.0, 2.0, 2.999]  # the beginning, each second, the end


def test_the_last_step_before_a_long_one_is_told(tmp_path: Path) -> None:
    with CommandProgress("decode", tmp_path).bar("decode", 9) as bar:
        for _ in range(4):
            bar.advance()
        path = the_file(tmp_path)
        while (found := read_command(path).bar) and found.done == 0:
            time.sleep(0.05)
        assert found
        assert found.done == 4


def test_nothing_is_written_after_the_end(tmp_path: Path) -> None:
    told = CommandProgress("decode", tmp_path)
    with told.bar("decode", 9) as bar:
        bar.advance()  # too soon: it waits
    told.end("done")
    time.sleep(1.2)

    assert read_command(the_file(tmp_path)).state == "done"


def test_what_a_cache_gave_at_once_does_not_count_for_what_is_left(tmp_path: Path) -> None:
    now = 0.0
    told = CommandProgress("decode", tmp_path, clock=lambda: now)
    with told.bar("decode", 2000) as bar:
        bar.advance(1000)
        for step in range(100):
            now = float(step + 1)
            bar.advance()
        found = read_command(the_file(tmp_path)).bar

    assert found
    assert found.rate == 1.0
    assert seconds_left(found) == 900.0


def test_work_within_work_shows_the_inner(tmp_path: Path) -> None:
    console = Console(quiet=True, kept=CommandProgress("train", tmp_path))
    with console.progress("train", 2):
        with ConsoleWithout(True, False, console.kept, hidden="x").progress("train a", 5):
            inner = read_command(the_file(tmp_path)).bar
        outer = read_command(the_file(tmp_path)).bar

    assert (inner and inner.label, outer and outer.label) == ("train a", "train")


@pytest.mark.parametrize(
    ("error", "state", "problem"),
    [
        (None, "done", ""),
        (KeyboardInterrupt(), "stopped", ""),
        (InputError("no such \x1b video", hint="look"), "failed", "no such \\x1b video"),
        (RuntimeError("secret"), "failed", "RuntimeError"),
    ],
)
def test_how_a_command_ended(project: Path, error: BaseException | None, state: str, problem: str) -> None:
    try:
        with told_progress("evaluate") as kept, Console(quiet=True, kept=kept).progress("evaluate", 1):
            if error:
                raise error
    except (KeyboardInterrupt, InputError, RuntimeError):
        pass
    (seen,) = read_commands()

    assert (seen.state, seen.problem, seen.runs) == (state, problem, False)


def test_a_killed_command_is_known_to_be_dead(project: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        (running,) = read_commands()
        process.send_signal(signal.SIGKILL)
    (killed,) = read_commands()

    assert (running.state, running.pid) == ("running", process.pid)
    assert (killed.state, killed.bar and killed.bar.total) == ("killed", 10)


def test_a_number_that_another_process_has_by_now_is_no_life(tmp_path: Path) -> None:
    told = CommandProgress("decode", tmp_path)
    with told.bar("decode", 1):
        path = the_file(tmp_path)
        facts = read_sealed_json(path, hint="")
        write_sealed_json(path, {**facts, "process": facts["process"] + "0"})  # it began at another time
        assert read_command(path).state == "killed"


def test_of_another_machine_nothing_is_claimed(tmp_path: Path) -> None:
    with CommandProgress("decode", tmp_path).bar("decode", 1):
        path = the_file(tmp_path)
        facts = read_sealed_json(path, hint="")
        write_sealed_json(path, {**facts, "host": "far"})
        recent = read_command(path)
        write_sealed_json(path, {**facts, "host": "far", "told": facts["told"] - 25 * 3600})
        old = read_command(path)

    assert (recent.state, recent.runs, old.state) == ("elsewhere", True, "killed")


def test_a_damaged_file_is_told_and_hides_no_other(project: Path) -> None:
    with told_progress("decode") as kept, Console(quiet=True, kept=kept).progress("decode", 1):
        pass
    path = Path("logs/commands/20000101-000000-1.json")
    path.write_text(the_file(Path("logs/commands")).read_text().replace("decode", "d3code"))
    whole, damaged = read_commands()

    assert (whole.state, damaged.state) == ("done", "damaged")
    assert "checksum does not fit" in damaged.problem


@pytest.mark.parametrize(
    "change", [{"bars": 3}, {"began": "x"}, {"began": float("nan")}, {"links": None}, {"pid": 10**30}]
)
def test_a_sealed_file_that_tells_of_no_command_is_damaged(tmp_path: Path, change: dict[str, object]) -> None:
    with CommandProgress("decode", tmp_path).bar("decode", 1):
        pass
    path = the_file(tmp_path)
    write_sealed_json(path, {**read_sealed_json(path, hint=""), **change})
    (seen,) = read_commands(tmp_path)

    assert (seen.state, seen.name) == ("damaged", path.stem)


def test_running_ones_come_first_and_the_list_is_bounded(project: Path) -> None:
    folder = Path("logs/commands")
    for number in range(5):
        with told_progress(f"c{number}") as kept, Console(quiet=True, kept=kept).progress("x", 1):
            pass
        newest = max(folder.glob("2*.json"))
        newest.rename(folder / f"3000010{number}-000000-1.json")
    told = CommandProgress("train", folder)
    with told.bar("train", 1):
        found = read_commands(folder, count=3)

    assert [each.command for each in found] == ["train", "c4", "c3"]


def test_old_files_make_room(tmp_path: Path) -> None:
    for number in range(KEPT + 20):
        (tmp_path / f"2000-{number:04d}.json").touch()
    with CommandProgress("decode", tmp_path).bar("decode", 1):
        pass

    assert len(list(tmp_path.glob("*.json"))) == KEPT
    assert not (tmp_path / "2000-0020.json").exists()


def test_only_a_project_gets_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with told_progress("decode") as kept, Console(quiet=True, kept=kept).progress("decode", 1) as progress:
        progress.advance()

    assert list(tmp_path.iterdir()) == []


def test_a_command_without_long_work_writes_none(project: Path) -> None:
    with told_progress("completion"):
        pass

    assert not Path("logs").exists()


def test_a_place_that_cannot_be_written_stops_nobody(project: Path) -> None:
    Path("logs").touch()  # a file where the folder should be
    with told_progress("decode") as kept, Console(quiet=True, kept=kept).progress("decode", 2) as progress:
        progress.advance(2)

    assert Path("logs").read_text() == ""


def test_a_long_name_and_control_characters_stay_bounded(tmp_path: Path) -> None:
    now = 0.0
    told = CommandProgress("decode", tmp_path, clock=lambda: now)
    with told.bar("\x1b[2J" * 500, 2) as bar:
        now = 5.0
        bar.advance(note="<b>" + "n" * 5000 + "\udcff")
        found = read_command(the_file(tmp_path)).bar

    assert found
    assert len(found.label) == len(found.note) == SHOWN
    assert "\x1b" not in json.dumps(found.label)


def test_links_are_told(tmp_path: Path) -> None:
    console = Console(quiet=True, kept=CommandProgress("extract", tmp_path))
    with console.progress("extract", 1):
        console.link("dask dashboard", "http://127.0.0.1:8787/status")
        assert read_command(the_file(tmp_path)).links == {"dask dashboard": "http://127.0.0.1:8787/status"}
    Console().link("dask dashboard", "of a command that tells nobody")
