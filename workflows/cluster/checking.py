"""Whether the workers of a profile are fit: each is asked what it is, and what it finds where the work will be."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from uuid import uuid4

from pipeline.core import ClusterError, cache_folder, file_sha256
from pipeline.weights import converted_path
from workflows.cluster.executor import environment_of
from workflows.cluster.start import opened, worker_count
from workflows.cluster.worker import WorkerEnvironment
from workflows.profiles import Cluster, Node, Queue

PACKAGES = (  # must be the same everywhere, or missing everywhere
    "framescribe",
    "torch",
    "torchvision",
    "timm",
    "onnxruntime",
    "openvino",
    "numpy",
    "av",
    "decord",
    "safetensors",
    "distributed",
)
OWN = ("pipeline", "extractors", "models", "workflows")
CLOCK = 5.0  # seconds that a clock may differ
MISSING = "missing"


@dataclass(frozen=True)
class Question:
    environment: WorkerEnvironment
    token: str  # the name of a file in the cache folder, with itself as content
    weights: tuple[str, ...]
    device: str


@dataclass(frozen=True)
class Answer:
    host: str
    process: int
    versions: dict[str, str]
    devices: str
    token: str  # what the worker read
    weights: dict[str, str]  # name -> sha256, or what is wrong
    clock: float  # seconds since 1970, when it answered


@dataclass(frozen=True)
class Fitness:
    """One line of the table."""

    worker: str
    host: str
    devices: str
    problems: list[str] = field(default_factory=list)


def answer(question: Question) -> Answer:
    """Runs on a worker: leave a file beside the token, so that the client sees what was written here."""
    question.environment.enter()
    folder = token_folder()
    try:
        token = (folder / question.token).read_text()
        (folder / f"{question.token}-{socket.gethostname()}-{os.getpid()}").write_text(token)
    except OSError as error:
        token = f"{folder}: {error.strerror}"
    weights = {name: _weights_hash(name) for name in question.weights}
    devices = _devices(question.device)
    return Answer(socket.gethostname(), os.getpid(), versions(), devices, token, weights, time.time())


def token_folder() -> Path:
    return cache_folder("checks")


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "code": _code()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def _code() -> str:
    """Of all sources of this project: its version number does not tell two check-outs apart."""
    root = Path(__file__).parents[2]
    sources = (path for package in OWN for pattern in ("*.py", "*.pyi") for path in (root / package).rglob(pattern))
    files = sorted(sources)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def _devices(device: str) -> str:
    if device == "cpu":
        return f"{len(os.sched_getaffinity(0))} cores"
    import torch

    if not torch.cuda.is_available():
        return "no GPU"
    return ", ".join(torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count()))


def _weights_hash(name: str) -> str:

    try:
        return file_sha256(converted_path(name))
    except OSError as error:
        return f"{MISSING} ({error.strerror})"


def check(profile: Cluster, *, weights: Sequence[str]) -> list[Fitness]:
    """Start the cluster, ask every worker that came within `wait`, stop it."""
    question = Question(environment_of(profile), uuid4().hex, tuple(weights), profile.device)
    if isinstance(profile, Node | Queue):
        profile = profile.model_copy(update={"at_least": None})  # all of them: none would come without work
    folder = token_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / question.token).write_text(question.token)
    try:
        with opened(profile) as client:
            answers = _ask(client, question, profile)
            seen = {path.name for path in folder.iterdir()}
    finally:
        for path in folder.glob(f"{question.token}*"):
            path.unlink()
    expected = {name: _weights_hash(name) for name in weights}
    return [_judged(worker, each, question, expected, seen) for worker, each in sorted(answers.items())]


def _ask(client: Any, question: Question, profile: Cluster) -> dict[str, tuple[Answer | Exception, float]]:
    """Answers by worker, each with how far its clock is off; the error of a worker that cannot answer."""
    try:
        client.wait_for_workers(max(worker_count(profile), 1), timeout=profile.wait)
    except TimeoutError:
        if not client.nthreads():
            raise ClusterError(
                f"no worker came within {profile.wait:.0f} s (wait in the profile)",
                hint="the logs of the batch system, of ssh or of the containers tell why",
            ) from None
    sent = time.time()
    answers: Mapping[str, Answer | Exception] = client.run(answer, question, on_error="return")
    took = time.time() - sent

    def off(each: Answer | Exception) -> float:
        return 0.0 if isinstance(each, Exception) else max(0.0, sent - each.clock, each.clock - sent - took)

    return {worker: (each, off(each)) for worker, each in answers.items()}


def _judged(
    worker: str,
    given: tuple[Answer | Exception, float],
    question: Question,
    weights: Mapping[str, str],
    seen: set[str],
) -> Fitness:
    found, clock = given
    if isinstance(found, Exception):  # another version of the code, or none, or no such folder
        return Fitness(worker, "", "", [f"cannot answer: {getattr(found, 'message', None) or repr(found)}"])
    theirs, own = found.versions, versions()
    problems = [f"{name} is {theirs.get(name)}, here {own[name]}" for name in own if theirs.get(name) != own[name]]
    if found.token != question.token:
        problems.append(f"does not see this project's folder ({found.token})")
    elif f"{question.token}-{found.host}-{found.process}" not in seen:
        problems.append("what it writes is not seen here: its folder is another one")
    problems += [_of_weights(name, each, weights[name]) for name, each in found.weights.items()]
    if question.device == "cuda" and found.devices == "no GPU":
        problems.append("has no GPU that torch can use")
    if clock > CLOCK:
        problems.append(f"its clock is off by {clock:.0f} s")
    return Fitness(worker, found.host, found.devices, [problem for problem in problems if problem])


def _of_weights(name: str, there: str, here: str) -> str:
    if there.startswith(MISSING):  # here too, perhaps: then `framescribe weights fetch` is what is left to do
        return f"weights {name}: {there}"
    return "" if there == here else f"weights {name}: {there[:12]}, here {here.partition(' ')[0][:12]}"


def as_rows(found: Sequence[Fitness]) -> list[tuple[str, str, str, str]]:
    return [(each.worker, each.host, each.devices, "; ".join(each.problems) or "fit") for each in found]


def as_summary(found: Sequence[Fitness]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]
