"""A profile applied: the executor and the device that a stage is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.core import Console, Executor, InProcess, LocalProcesses, cores
from workflows import cluster
from workflows.profiles import Local, Profile, load_profile

QUIET = Console(quiet=True)


@dataclass(frozen=True)
class Machine:
    profile: Profile
    console: Console = QUIET

    @property
    def is_cluster(self) -> bool:
        return not isinstance(self.profile, Local)

    @property
    def device(self) -> str:
        if self.profile.device != "auto":
            return self.profile.device
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    @property
    def executor(self) -> Executor:
        if not isinstance(self.profile, Local):
            return cluster.DaskExecutor(self.profile, console=self.console)
        workers = cores() if self.profile.workers == "cores" else self.profile.workers
        return LocalProcesses(workers) if workers > 1 else InProcess()


def load_machine(
    name: str | None = None,
    *,
    workers: int | None = None,
    insecure: bool = False,
    report: str | None = None,
    console: Console = QUIET,
) -> Machine:
    changes: dict[str, Any] = {"workers": workers, "insecure": insecure or None, "performance_report": report}
    return Machine(load_profile(name, **changes), console)
