"""Machine profiles: which workers, on which device, how they are reached. Nothing here may change a result."""

from __future__ import annotations

import difflib
import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)

from pipeline.core import UsageError
from pipeline.params import read_yaml

FOLDER = Path(__file__).parent
VARIABLE = "FRAMESCRIBE_PROFILE"
UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
LEAST_MEMORY = 128 << 20  # bytes; a worker that has imported torch has more, so it would be ended as soon as it starts


def _seconds(text: Any) -> Any:
    """`90 s`, `10 min`, `4 h`, `2 d`, or a number of seconds."""
    if not isinstance(text, str):
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*", text)
    if found is None:
        raise ValueError(f"'{text}' is not a time; write 90 s, 10 min, 4 h or 2 d")
    return float(found[1]) * UNITS[found[2]]


def _enough(size: ByteSize) -> ByteSize:
    if size < LEAST_MEMORY:
        raise ValueError(f"{size} bytes are too few for a worker; write 16 GiB or 800 MiB")
    return size


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
InFlight = PositiveInt | Literal["cores"]  # of `extract`, in one worker; `cores`: two more than it has cores
Memory = Annotated[ByteSize, AfterValidator(_enough)]


class ProfileSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Local(ProfileSection):
    """Processes of this machine, without dask."""

    kind: Literal["local"] = "local"
    workers: PositiveInt | Literal["cores"] = "cores"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    videos_in_flight: InFlight = "cores"


class Cluster(ProfileSection):
    """What all profiles with dask share."""

    device: Literal["cpu", "cuda"]  # never `auto`: this machine may have none of what the workers have
    videos_per_task: PositiveInt = 4
    videos_in_flight: InFlight = "cores"
    time_limit: Seconds = 600.0  # of one video, after which its worker is ended
    attempts: PositiveInt = 5  # at a video that takes its worker down, before it is quarantined
    patience: Seconds = 60.0  # with a task that others are waiting for, before it is started elsewhere too
    silence: Seconds = 300.0  # of a worker, after which it is given up
    wait: Seconds = 600.0  # for a first worker, and for another when all are lost
    folder: Path | None = None  # the project's folder as workers see it; None: the same as here
    certificates: Path | None = None  # made by `framescribe cluster certs`
    insecure: bool = False
    dashboard: str | None = "127.0.0.1:0"
    performance_report: Path | None = None
    logs: Path | None = Path("logs")

    @model_validator(mode="after")
    def _dashboard_stays_here(self) -> Self:
        if self.dashboard is not None and not self.insecure and not is_loopback(self.dashboard):
            raise ValueError(
                f"dashboard: {self.dashboard} can be read by others, for it has no password; "
                "keep it on 127.0.0.1 and look through `ssh -L`, or say --insecure"
            )
        return self


def _require_order(at_least: int | None, workers: int) -> None:
    if at_least is not None and at_least > workers:
        raise ValueError(f"at_least: {at_least} are more than the {workers} workers that there are at most")


class Node(Cluster):
    """One machine, one worker process per GPU or core."""

    kind: Literal["node"]
    workers: PositiveInt | Literal["cores", "gpus"] = "gpus"
    at_least: int | None = Field(default=None, ge=0)
    memory: Memory | None = None

    @model_validator(mode="after")
    def _a_gpu_each(self) -> Self:
        if self.device == "cuda" and (self.workers == "cores" or self.at_least is not None):
            raise ValueError("with device: cuda a worker has a GPU of its own; write workers: gpus, without at_least")
        return self

    @model_validator(mode="after")
    def _range(self) -> Self:
        if not isinstance(self.workers, str):
            _require_order(self.at_least, self.workers)
        return self


class Reachable(Cluster):
    """The scheduler runs here and workers connect from other machines."""

    host: str | None = None  # the name or address of this machine, as workers reach it
    interface: str | None = None  # or the network interface that has it
    memory: Memory | None = None
    python: str | None = None  # on the workers; None: the same path as here

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        here = self.host is not None and self.interface is None and is_loopback(self.host)
        if self.certificates is None and not self.insecure and not here:
            raise ValueError(
                "certificates: missing, and workers connect from other machines; "
                "make some by `framescribe cluster certs`, or say --insecure"
            )
        return self


class Ssh(Reachable):
    kind: Literal["ssh"]
    hosts: list[str] = Field(min_length=1)
    workers_per_host: PositiveInt = 1
    user: str | None = None
    port: PositiveInt = 22
    key: Path | None = None
    known_hosts: Path | None = None


class Queue(Reachable):
    kind: Literal["queue"]
    system: Literal["slurm", "pbs", "sge"] = "slurm"
    workers: PositiveInt  # jobs; each is one worker
    at_least: int | None = Field(default=None, ge=0)
    cpus: PositiveInt = 2  # of a job
    memory: Memory
    walltime: Seconds = 4 * 3600.0
    queue: str | None = None
    account: str | None = None
    directives: list[str] = []
    prologue: list[str] = []

    @model_validator(mode="after")
    def _range(self) -> Self:
        _require_order(self.at_least, self.workers)
        return self


class Existing(Cluster):
    """A scheduler that somebody else started, with its workers."""

    kind: Literal["scheduler"]
    address: str
    reconnect: Seconds = 300.0

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        protocol, _, place = self.address.partition("://")
        if protocol not in ("tcp", "tls") or not place:
            raise ValueError(f"address: '{self.address}' must be tls://HOST:PORT (or tcp://127.0.0.1:PORT)")
        if protocol == "tcp" and not is_loopback(place) and not self.insecure:
            raise ValueError(f"address: '{self.address}' is not encrypted; use tls://, or say --insecure")
        if protocol == "tls" and self.certificates is None:
            raise ValueError("certificates: missing; a tls:// scheduler needs those that it was started with")
        return self


Profile = Local | Node | Ssh | Queue | Existing
KINDS: dict[str, type[Profile]] = {"local": Local, "node": Node, "ssh": Ssh, "queue": Queue, "scheduler": Existing}
OPTIONS = {"workers": "--workers", "performance_report": "--performance-report"}


def is_loopback(place: str) -> bool:
    """Whether `host` or `host:port` can be reached from this machine alone."""
    host = place.rsplit(":", 1)[0] if place.count(":") == 1 else place
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def load_profile(name: str | None = None, **changes: Any) -> Profile:
    """The profile called `name`, or the one that FRAMESCRIBE_PROFILE names, or `laptop`; a YAML file works too."""
    name = name or os.environ.get(VARIABLE) or "laptop"
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.yaml")))
        raise UsageError(f"there is no profile '{name}'; known: {known}, or the path of a .yaml file")
    settings = read_yaml(path) or {}
    kind = _kind_of(settings, path)
    asked = {key: value for key, value in changes.items() if value is not None}
    for key in asked.keys() & OPTIONS.keys() - kind.model_fields.keys():
        raise UsageError(f"{OPTIONS[key]} does not go with {path}", hint=f"a profile that has `{key}`: docs/cluster.md")
    try:
        return kind.model_validate(settings | {key: asked[key] for key in asked if key in kind.model_fields})
    except ValidationError as error:
        told = "; ".join(_readable(problem, list(kind.model_fields)) for problem in error.errors())
        raise UsageError(f"{path} is not a valid profile: {told}") from error


def _kind_of(settings: Any, path: Path) -> type[Profile]:
    if not isinstance(settings, dict):
        raise UsageError(f"{path} is not a valid profile: it has no lines of `key: value`")
    kind = settings.get("kind", "local")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UsageError(f"{path} is not a valid profile: kind: {kind!r} must be one of {', '.join(KINDS)}")
    return KINDS[kind]


def _readable(problem: Any, known: list[str]) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        close = difflib.get_close_matches(where, known, n=1)
        return f"{where}: unknown key; " + (f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}")
    told = problem["msg"].removeprefix("Value error, ")
    if not where:  # of the profile as a whole
        return told
    return (
        f"{where}: {told}"
        if problem["type"] in ("value_error", "missing")
        else f"{where}: {told} (got {problem['input']!r})"
    )
