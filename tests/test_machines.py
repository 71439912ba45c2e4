"""Executors give every result once; profiles are validated and change nothing but speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.execution import InProcess, LocalProcesses
from workflows.machines import load_machine


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(2)])
def test_every_item_gives_one_result(executor: InProcess | LocalProcesses) -> None:
    assert sorted(executor.map(str, [3, 1, 2])) == ["1", "2", "3"]
    assert list(executor.map(str, [])) == []


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(LocalProcesses(2).map(int, ["1", "x"]))


def test_the_default_profile_is_laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAMESCRIBE_PROFILE", raising=False)

    machine = load_machine()

    assert not machine.is_cluster
    assert machine.profile == load_machine("laptop").profile


def test_a_profile_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.yaml").write_text("workers: 1\ndevice: cpu\n")
    monkeypatch.setenv("FRAMESCRIBE_PROFILE", str(tmp_path / "one.yaml"))
    machine = load_machine()

    assert machine.device == "cpu"
    assert isinstance(machine.executor, InProcess)


@pytest.mark.parametrize(
    ("content", "message"), [("worker: 3", "worker"), ("workers: many", "workers"), ("device: tpu", "device")]
)
def test_a_bad_profile_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bad.yaml").write_text(content)

    with pytest.raises(UsageError, match=message):
        load_machine(str(tmp_path / "bad.yaml"))


def test_an_unknown_profile_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"no profile 'mainframe'; known: gpu-node, laptop, scheduler, slurm, ssh"):
        load_machine("mainframe")
