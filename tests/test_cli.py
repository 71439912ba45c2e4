"""The command line: exit codes, messages, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli import main
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
