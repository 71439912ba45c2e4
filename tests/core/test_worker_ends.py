"""A worker that is gone says why: a kill, a crash, or a start that failed; not always memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipeline.core.errors import WorkerDiedError
from pipeline.core.executors import LocalProcesses


def ends(how: int) -> int:
    if how < 0:
        os.kill(os.getpid(), -how)
    os._exit(how)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (-signal.SIGKILL, r"was killed \(SIGKILL\), perhaps for want of memory; what was finished is kept"),
        (-signal.SIGSEGV, r"crashed \(SIGSEGV\)"),
        (3, "ended by itself with exit code 3; what it said is above"),
    ],
)
def test_what_ended_it_is_named(how: int, told: str) -> None:
    with pytest.raises(WorkerDiedError, match=told) as caught:
        list(LocalProcesses(1).map(ends, [how]))
    assert ("memory" in caught.value.message) == (how == -signal.SIGKILL)


def test_the_pool_that_waits_for_it_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads may wait for one process: the second is told that there is no child, and knew no exit code."""
    waitpid = os.waitpid

    def waits_long(pid: int, flags: int) -> tuple[int, int]:
        here = threading.current_thread() is threading.main_thread()
        time.sleep(0.1 if here else 0)  # the other one is first
        told = waitpid(pid, flags)
        time.sleep(0 if here else 1)
        return told

    monkeypatch.setattr(os, "waitpid", waits_long)
    with pytest.raises(WorkerDiedError, match="ended by itself with exit code 3"):
        list(LocalProcesses(1).map(ends, [3]))


def test_a_worker_that_cannot_start_says_so(tmp_path: Path) -> None:
    """A script without the guard that `spawn` needs."""
    script = tmp_path / "unguarded.py"
    script.write_text("from pipeline.core.executors import LocalProcesses\nlist(LocalProcesses(1).map(abs, [1]))\n")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment)

    assert "ended by itself with exit code 1; what it said is above" in done.stderr
    assert "bootstrapping phase" in done.stderr
    assert "memory" not in done.stderr
