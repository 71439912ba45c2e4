"""The command line: exit codes, messages, JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipeline.cli import COMMANDS, USE_PROFILE, USE_WORKERS, command_module, main
from pipeline.core.console import Console, pace


def test_no_command_prints_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "dvc repro" in capsys.readouterr().out


def test_an_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["transcode"])

    assert stop.value.code == 2
    assert "decode" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("framescribe ")


def test_errors_are_one_message_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["train", "soft_attention"]) == 2

    message = capsys.readouterr().err
    assert message.startswith("framescribe train: params.yaml is not here")
    assert "next: run this from the project's root" in message
    assert "Traceback" not in message


def test_an_unknown_run_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent)

    assert main(["caption", "nobody"]) == 2
    assert "there is no run 'nobody' in params.yaml; it has: mean_pool, soft_attention" in capsys.readouterr().err


def test_json_is_all_there_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= {"mobilenet_v2"}


def test_progress_is_plain_lines_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    with Console().progress("work", 3) as progress:
        for _ in range(3):
            progress.advance()

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("work: 3/3 (")


@pytest.mark.parametrize("console", [Console(quiet=True), Console(as_json=True)])
def test_quiet_and_json_say_nothing_else(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    console.say("hello")
    console.table(("a",), [(1,)])
    with console.progress("work", 1) as progress:
        progress.advance()

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("done", "seconds", "shown"), [(38, 10.0, "3.8/s"), (4, 30, "7.5 s each"), (0, 9, "0.0/s")])
def test_progress_of_slow_work_says_how_long_one_takes(done: int, seconds: float, shown: str) -> None:
    assert pace(done, seconds) == shown


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("extrat", "extract"),
        ("--versoin", "--version"),
        ("store verfy", "verify"),
        ("weights lst", "list"),
        ("extractors shwo", "show"),
        ("cluster chek", "check"),
        ("dataset usee", "use"),
        ("cache gcc", "gc"),
        ("decode --ouput index", "--out"),
        ("decode --ouput=index", "--out"),
        ("store import a b --sufix _rgb", "--suffix"),
        ("store ls --jsn", "--json"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(typed.split())

    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith(f"; did you mean '{meant}'?\n")


@pytest.mark.parametrize("typed", ["xyzzy", "weights xyzzy", "decode --xyzzy"])
def test_a_word_like_no_other_is_not_guessed_at(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(typed.split())

    assert stop.value.code == 2
    assert "did you mean" not in capsys.readouterr().err


MACHINE = {"--profile", "--workers", "--insecure", "--performance-report"}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        *((name, MACHINE) for name in ("decode", "extract", "train", "caption", "evaluate", "cluster")),
        *((name, {"--profile"}) for name in ("doctor", "mask", "fuse", "store")),
        ("demo-data", {"--workers"}),  # an option of its own
        *((name, set()) for name in ("assemble", "report", "dataset", "paper", "compare", "frames", "cache")),
        *((name, set()) for name in ("extractors", "weights")),
    ],
)
def test_help_has_the_machine_options_that_a_command_uses(
    command: str, shown: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])

    assert set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) & MACHINE == shown


@pytest.mark.parametrize("name", COMMANDS)
def test_what_asks_for_a_machine_says_so(name: str) -> None:
    source = Path(str(command_module(name).__file__)).read_text()

    assert ("args.machine()" in source) == (name in USE_WORKERS + USE_PROFILE)


def test_machine_options_are_taken_by_commands_that_have_no_use_for_them() -> None:
    options = ["--profile", "laptop", "--workers", "2", "--insecure", "--performance-report", "page.html"]

    assert main(["weights", "list", "--json", *options]) == 0
