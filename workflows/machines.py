"""A profile applied: the executor and the device that a stage is given."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import Console, Executor, InProcess, LocalProcesses, cores, in_flight
from workflows import cluster
from workflows.profiles import Local, Node, Profile, load_profile

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
        if not has_driver():
            return "cpu"
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    @property
    def other_devices(self) -> list[str]:
        """Of the workers beside this process that may share one piece of work on this machine: cores, or GPUs."""
        if not isinstance(self.profile, Local | Node):
            return []
        asked = self.profile.workers
        if self.device == "cpu":
            return ["cpu"] * ((cores() if isinstance(asked, str) else asked) - 1)
        here = cluster.gpus()
        return [f"cuda:{number}" for number in range(1, here if isinstance(asked, str) else min(asked, here))]

    @property
    def executor(self) -> Executor:
        if not isinstance(self.profile, Local):
            return cluster.DaskExecutor(self.profile, console=self.console)
        workers = cores() if self.profile.workers == "cores" else self.profile.workers
        stated = self.profile.videos_in_flight
        together = in_flight(cores() // workers) if stated == "cores" else stated
        return LocalProcesses(workers, together) if workers > 1 else InProcess(together)


def has_driver() -> bool:
    """Whether torch may find a GPU: NVIDIA's by the library of its driver, AMD's by its device; without it, never."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Path("/dev/kfd").exists()
    return True


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
