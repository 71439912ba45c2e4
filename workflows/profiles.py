"""Machine profiles: how many workers, on which device. Nothing here may change a result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML

from pipeline.errors import UsageError
from pipeline.execution import Executor, InProcess, LocalProcesses

FOLDER = Path(__file__).parent
VARIABLE = "FRAMESCRIBE_PROFILE"


class Profile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    workers: int | Literal["cores"] = Field(default="cores")
    device: Literal["auto", "cpu", "cuda"] = "auto"


@dataclass(frozen=True)
class Machine:
    """A profile applied to the machine this process runs on."""

    profile: Profile

    @property
    def workers(self) -> int:
        return len(os.sched_getaffinity(0)) if self.profile.workers == "cores" else self.profile.workers

    @property
    def device(self) -> str:
        if self.profile.device != "auto":
            return self.profile.device
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    @property
    def executor(self) -> Executor:
        return LocalProcesses(self.workers) if self.workers > 1 else InProcess()


def load_machine(name: str | None = None) -> Machine:
    """The profile called `name`, or the one that FRAMESCRIBE_PROFILE names, or `laptop`; a YAML file works too."""
    name = name or os.environ.get(VARIABLE, "laptop")
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.yaml")))
        raise UsageError(f"there is no profile '{name}'; known: {known}, or the path of a .yaml file")
    try:
        return Machine(Profile.model_validate(YAML(typ="safe").load(path.read_text()) or {}))
    except ValidationError as error:
        raise UsageError(f"{path} is not a valid profile: {error}") from error
