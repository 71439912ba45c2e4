"""Executors give every result once; profiles are validated and change nothing but speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import MissingToolError, UsageError
from pipeline.execution import InProcess, LocalProcesses
from workflows.clusters import _visible
from workflows.machines import load_machine
from workflows.profiles import Node


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


@pytest.mark.parametrize("name", ["laptop", "gpu-node", "ssh", "slurm", "scheduler"])
def test_the_profiles_that_come_along_are_valid(name: str) -> None:
    assert load_machine(name).profile.kind in ("local", "node", "ssh", "queue", "scheduler")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90 s", 90), ("10 min", 600), ("1.5 h", 5400), ("2d", 172800), ("7", None)]
)
def test_times_are_written_as_people_do(tmp_path: Path, text: str, seconds: float | None) -> None:
    (tmp_path / "one.yaml").write_text(f"kind: node\nworkers: 1\ndevice: cpu\nmemory: 4 GiB\ntime_limit: '{text}'\n")
    if seconds is None:
        with pytest.raises(UsageError, match="'7' is not a time; write 90 s"):
            load_machine(str(tmp_path / "one.yaml"))
        return
    profile = load_machine(str(tmp_path / "one.yaml")).profile
    assert isinstance(profile, Node)
    assert (profile.time_limit, profile.memory) == (seconds, 4 << 30)


def test_a_worker_sees_its_own_gpu_of_those_that_this_process_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert _visible(2) == {"CUDA_VISIBLE_DEVICES": "2"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert _visible(1) == {"CUDA_VISIBLE_DEVICES": "7"}
    with pytest.raises(MissingToolError, match="more workers than CUDA_VISIBLE_DEVICES=5,7"):
        _visible(2)
