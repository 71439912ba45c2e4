"""A scheduler and workers of somebody else's: programs of their own, which can be killed and started again."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.conftest import QUIET
from tests.cluster.sockets import free_port
from workflows.cluster.executor import DaskExecutor
from workflows.profiles.schema import Existing

ROOT = Path(__file__).parents[2]
SCHEDULER = {"ALLOWED_FAILURES": "0", "WORKER_SATURATION": "1.0"}  # as docs/cluster.md asks for

HERE = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]


@dataclass
class Site:
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, *, workers: int = 1) -> Site:
        self._run("distributed.cli.dask_scheduler", *HERE, "--port", str(self.port), "--no-dashboard")
        for _ in range(workers):
            self.add_worker()
        return self

    def add_worker(self) -> None:
        alone = ["--no-nanny", "--nthreads", "1", "--preload", "tests.cluster.warm"]
        self._run("distributed.cli.dask_worker", self.address, *HERE, *alone)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()

    def kill_scheduler(self) -> None:
        self.processes[0].kill()
        self.processes[0].wait()

    def kill_workers(self) -> None:
        for process in self.processes[1:]:
            process.kill()
            process.wait()
        del self.processes[1:]

    def executor(self, **settings: Any) -> DaskExecutor:
        facts = {"device": "cpu", "videos_per_task": 1, "wait": 120.0, **settings}
        return DaskExecutor(Existing(kind="scheduler", address=self.address, **facts), QUIET)

    def _run(self, module: str, *arguments: str) -> None:
        variables = {f"DASK_DISTRIBUTED__SCHEDULER__{name}": value for name, value in SCHEDULER.items()}
        environment = {**os.environ, **variables, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", module, *arguments]
        self.processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
