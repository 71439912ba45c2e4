"""The SLURM script under a stand-in for `srun`: real scheduler and workers, own certificates, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.containers.dockerfile import ROOT

SCRIPT = ROOT / "docker/slurm.sh"
SRUN = """#!/usr/bin/env bash
while [[ "$1" == --* ]]; do shift; done
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' TERM
for _ in $(seq "$SLURM_NTASKS"); do "$@" & pids+=($!); done
wait
"""
ASK_THE_WORKERS = """
import json, os, sys
from pathlib import Path
from workflows.cluster.start import opened
from workflows.profiles.schema import load_profile
profile = load_profile()
with opened(profile, seconds=120) as client:
    client.wait_for_workers(2, timeout=120)
    mode = oct(profile.certificates.parent.stat().st_mode)
    found = {"workers": len(client.run(os.getpid)), "address": profile.address, "device": profile.device, "mode": mode}
    Path("answer.json").write_text(json.dumps(found))
sys.exit(int(os.environ.get("END", "0")))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to submit from, with the tools that the script expects on a node."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/srun").write_text(SRUN)
    (tmp_path / "bin/framescribe").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipeline "$@"\n')
    for name in ("srun", "framescribe"):
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin/dask").symlink_to(Path(sys.executable).with_name("dask"))
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "ask.py").write_text(ASK_THE_WORKERS)
    monkeypatch.setenv("FRAMESCRIBE_BIN", str(tmp_path / "bin"))
    monkeypatch.setenv("SLURM_SUBMIT_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # this checkout, wherever the job runs
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    return tmp_path


def test_it_is_a_valid_script() -> None:
    subprocess.run(["bash", "-n", SCRIPT], check=True)
    assert os.access(SCRIPT, os.X_OK)


def test_no_page_is_served_to_other_machines() -> None:
    """Neither the scheduler's nor a worker's is encrypted; `--no-dashboard` would leave a worker's port open to all."""
    commands = re.findall(r"dask (scheduler|worker)\b(.*?) &", SCRIPT.read_text().replace("\\\n", ""))

    assert {name: "--dashboard-address 127.0.0.1:0" in options for name, options in commands} == {
        "scheduler": True,
        "worker": True,
    }


def test_it_is_refused_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_SUBMIT_DIR", str(tmp_path))
    done = subprocess.run(["bash", SCRIPT], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "no dvc.yaml" in done.stderr


@pytest.mark.slow
def test_a_job_is_a_cluster_and_leaves_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("END", "3")
    done = subprocess.run(
        ["bash", SCRIPT, sys.executable, "ask.py"], capture_output=True, text=True, check=False, timeout=300
    )

    assert done.returncode == 3, f"the command's own end is the job's: {done.stderr}"
    answer = json.loads((project / "answer.json").read_text())
    assert answer["workers"] == 2
    assert answer["address"].startswith("tls://")
    assert answer["device"] == "cpu"
    assert answer["mode"].endswith("700"), "the keys are the owner's alone"
    assert not list(project.glob(".cluster-*"))
    assert "BEGIN" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_job_that_is_stopped_takes_its_processes_along(project: Path) -> None:
    job = subprocess.Popen(["bash", SCRIPT, "sleep", "600"], start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(project.glob(".cluster-*/profile.yaml")) and time.monotonic() < deadline:
        time.sleep(0.2)
    os.killpg(job.pid, signal.SIGTERM)  # as SLURM does: to all processes of the step
    job.wait(timeout=60)

    assert not list(project.glob(".cluster-*"))
    with pytest.raises(ProcessLookupError):
        os.killpg(job.pid, 0)
