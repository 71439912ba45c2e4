"""The commands that run in a project, and those that ran: what `command_progress` wrote, and whether it still holds."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from pipeline.core.atomic import ABANDONED, is_running
from pipeline.core.command_progress import COMMANDS, Bar
from pipeline.core.errors import DamageError, FramescribeError
from pipeline.core.process_mark import number_space, process_mark
from pipeline.core.sealed_file import read_sealed_json

HINT = "remove it: nothing depends on it"


@dataclass(frozen=True, kw_only=True)
class SeenCommand:
    __pydantic_config__ = ConfigDict(allow_inf_nan=False)

    name: str  # of its file, by which it is known
    command: str
    state: str  # "running" | "elsewhere" | "done" | "failed" | "stopped" | "killed" | "damaged"
    problem: str = ""
    host: str = ""
    pid: Annotated[int, Field(ge=0, lt=2**31)] = 0
    began: float = 0.0  # seconds since 1970, as `told`: when it wrote last
    told: float = 0.0
    bars: tuple[Bar, ...] = ()
    links: Mapping[str, str]

    @property
    def runs(self) -> bool:
        return self.state in ("running", "elsewhere")

    @property
    def bar(self) -> Bar | None:
        """What it is at: the last that it began and has not ended, or the last of all."""
        open_bars = [bar for bar in self.bars if not bar.ended]
        return next(reversed(open_bars or self.bars), None)


def seconds_left(bar: Bar) -> float | None:
    """None before anything is known, and when nothing is left."""
    left = bar.total - bar.done
    return left / bar.rate if left > 0 and bar.rate > 0 and not bar.ended else None


def read_commands(folder: Path = COMMANDS, *, count: int = 20) -> list[SeenCommand]:
    """Running ones first, then the newest; one whose file cannot be read is told of, too."""
    found = [_seen_or_damaged(path) for path in sorted(folder.glob("*.json"), reverse=True)]
    return sorted(found, key=lambda command: not command.runs)[:count]


def read_command(path: Path) -> SeenCommand:
    facts = read_sealed_json(path, hint=HINT)
    process = str(facts.pop("process", ""))
    try:
        seen = TypeAdapter(SeenCommand).validate_python({"name": path.stem, **facts})
    except ValidationError as error:
        raise DamageError(f"{path} does not tell of a command: {error.errors()[0]['msg']}", hint=HINT) from error
    return replace(seen, state=_state(seen, process)) if seen.state == "running" else seen


def _seen_or_damaged(path: Path) -> SeenCommand:
    try:
        return read_command(path)
    except (FramescribeError, OSError) as error:
        return SeenCommand(name=path.stem, command="", state="damaged", problem=str(error), links={})


def _state(seen: SeenCommand, process: str) -> str:
    """Of what was not over when it was written. Processes of other machines and containers cannot be looked for."""
    if seen.host != socket.gethostname() or not _seen_from_here(process):
        return "elsewhere" if time.time() - seen.told < ABANDONED else "killed"
    alive = process_mark(seen.pid) == process if process else is_running(seen.pid)
    return "running" if alive else "killed"


def _seen_from_here(process: str) -> bool:
    return not process or process.startswith(f"{number_space()}-")
