"""Executors give every result once; profiles are validated and change nothing but speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.errors import MissingToolError, UsageError
from pipeline.core.executors import InProcess, LocalProcesses
from workflows.cluster import start
from workflows.cluster.start import _first_workers, _visible
from workflows.machines import load_machine
from workflows.profiles.schema import Node

NODE = "kind: node\ndevice: cpu\nworkers: 2\n"


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(2)])
def test_every_item_gives_one_result(executor: InProcess | LocalProcesses) -> None:
    assert sorted(executor.map(str, [3, 1, 2])) == ["1", "2", "3"]
    assert list(executor.map(str, [])) == []


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(LocalProcesses(2).map(int, ["1", "x"]))


def test_the_default_profile_is_laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_PROFILE", "")  # as good as not there
    assert load_machine().profile == load_machine("laptop").profile
    monkeypatch.delenv("FRAMESCRIBE_PROFILE")

    machine = load_machine()

    assert not machine.is_cluster
    assert machine.profile == load_machine("laptop").profile


@pytest.mark.parametrize(
    ("profile", "gpus", "devices"),
    [
        ("workers: 3\ndevice: cpu\n", 0, ["cpu", "cpu"]),
        ("workers: 1\ndevice: cpu\n", 0, []),
        ("workers: 8\ndevice: cuda\n", 2, ["cuda:1"]),
        ("workers: cores\ndevice: cuda\n", 3, ["cuda:1", "cuda:2"]),
        ("kind: node\nworkers: gpus\ndevice: cuda\n", 4, ["cuda:1", "cuda:2", "cuda:3"]),
        ("kind: node\nworkers: 2\ndevice: cpu\n", 0, ["cpu"]),
        ("kind: scheduler\ndevice: cuda\naddress: tcp://127.0.0.1:1\n", 4, []),  # its workers are elsewhere
    ],
)
def test_one_run_has_the_cores_or_the_devices_of_this_machine(
    profile: str, gpus: int, devices: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.cluster.gpus", lambda: gpus)
    (tmp_path / "one.yaml").write_text(profile)

    assert load_machine(str(tmp_path / "one.yaml")).other_devices == devices


def test_a_profile_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.yaml").write_text("workers: 1\ndevice: cpu\n")
    monkeypatch.setenv("FRAMESCRIBE_PROFILE", str(tmp_path / "one.yaml"))
    machine = load_machine()

    assert machine.device == "cpu"
    assert isinstance(machine.executor, InProcess)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("worker: 3", "worker: unknown key; did you mean workers"),
        ("colour: red", "colour: unknown key; known: kind, workers, device"),
        ("workers: many", "workers"),
        ("device: tpu", r"device: Input should be 'auto', 'cpu' or 'cuda' \(got 'tpu'\)"),
        ("kind: nod", "kind: 'nod' must be one of local, node, ssh, queue, scheduler"),
        ("kind: [node]", "must be one of local"),
        ("only words", "no lines of `key: value`"),
        ("- one\n- two", "no lines of `key: value`"),
        ("kind: node\n  workers: [", "is not valid YAML"),
        ("kind: node\nworkers: 2", "device: Field required"),
        (f"{NODE}memory: 16", "memory: 16 bytes are too few for a worker; write 16 GiB"),
        (f"{NODE}memory: 16 gigs", "memory: could not interpret byte unit: gigs"),
        (f"{NODE}at_least: 3", "at_least: 3 are more than the 2 workers"),
        (f"{NODE}dashboard: 0.0.0.0:8787", "profile: dashboard: 0.0.0.0:8787 can be read by others"),
        ("kind: node\ndevice: cuda\nworkers: cores", "a GPU of its own; write workers: gpus"),
        ("kind: node\ndevice: cuda\nworkers: 2\nat_least: 1", "without at_least"),
        ("kind: queue\ndevice: cpu\ninsecure: true\nworkers: 2\nat_least: 3\nmemory: 1 GiB", "at_least: 3 are more"),
    ],
)
def test_a_bad_profile_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bad.yaml").write_text(content)

    with pytest.raises(UsageError, match=message):
        load_machine(str(tmp_path / "bad.yaml"))


@pytest.mark.parametrize("name", ["ssh", "scheduler"])
def test_a_number_of_workers_is_refused_where_the_profile_has_none(name: str) -> None:
    with pytest.raises(UsageError, match=f"--workers does not go with .*{name}.yaml"):
        load_machine(name, workers=2)


def test_without_a_cluster_there_is_no_performance_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "check", "--profile", "laptop", "--performance-report", str(tmp_path / "page.html")]) == 2
    assert "--performance-report does not go with" in capsys.readouterr().err


def test_no_more_workers_at_first_than_there_are_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "cores", lambda: 2)
    node = {"kind": "node", "device": "cpu", "workers": "cores"}
    assert [_first_workers(Node.model_validate(node | {"at_least": number})) for number in (None, 0, 1, 8)] == [
        2,
        0,
        1,
        2,
    ]


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
    monkeypatch.setattr(start, "gpus", lambda: 3)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert _visible(2) == {"CUDA_VISIBLE_DEVICES": "2"}
    with pytest.raises(MissingToolError, match=r"more workers than there are GPUs \(0,1,2\)"):
        _visible(3)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert _visible(1) == {"CUDA_VISIBLE_DEVICES": "7"}
    with pytest.raises(MissingToolError, match=r"more workers than there are GPUs \(5,7\)"):
        _visible(2)
