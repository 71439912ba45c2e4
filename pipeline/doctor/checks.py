"""What this machine has and lacks. What may abort or hang is tried in a child process (`pipeline.doctor.probes`)."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pipeline import datasets, metrics, params, weights
from pipeline.core import FramescribeError, UsageError, cache_folder
from pipeline.doctor.probes import CLIP_FRAMES
from pipeline.remote import is_listing, read_listing

TIMEOUT = 120.0  # seconds a probe may take: a first import of torch from a cold disk is slow
LOW_DISK, NO_DISK = 5.0, 0.5  # GB
SETUP = "make setup"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at. `missing` stops the default graph; `warn` does not."""

    name: str
    state: Literal["ok", "warn", "missing"]
    detail: str
    blocks: str = ""
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a probe reported, or why it could not."""

    facts: dict[str, Any]
    problem: str = ""


def examine() -> list[Check]:
    """Every check, in the order of the graph. They run side by side, for they mostly wait for imports."""
    return _side_by_side(
        ("python", _python),
        ("packages", _packages),
        ("torch", _torch),
        ("dvc", _dvc),
        ("decoders", _decoders),
        ("java", _java),
        ("params.yaml", _params),
        ("data set", _dataset),
        ("weights", _weights),
        ("disk", _disk),
    )


def glance() -> list[Check]:
    """The installation alone, nothing heavy imported and no project needed: a container asks itself each minute."""
    return _side_by_side(("python", _python), ("packages", _packages), ("disk", _disk))


def _side_by_side(*jobs: tuple[str, Callable[[], list[Check]]]) -> list[Check]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        return [check for checks in pool.map(lambda job: _guarded(*job), jobs) for check in checks]


def _guarded(name: str, look: Callable[[], list[Check]]) -> list[Check]:
    """A package that cannot be imported, or a file that cannot be read, is a finding and not a crash."""
    try:
        return look()
    except ImportError as error:
        return [Check(name=name, state="missing", detail=str(error), blocks="the whole graph", fix=SETUP)]
    except FramescribeError as error:
        return [Check(name=name, state="missing", detail=error.message, blocks="the whole graph", fix=error.hint)]
    except OSError as error:
        return [Check(name=name, state="missing", detail=f"cannot be looked at: {error}", blocks="unknown")]


def ask(probe: str, *arguments: str, timeout: float = TIMEOUT) -> Answer:
    """Run a probe in a child process and read its answer."""
    command = [sys.executable, "-m", "pipeline.doctor.probes", probe, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return Answer(facts={}, problem=f"no answer within {timeout:g} s; it was killed")
    if done.returncode < 0:
        return Answer(facts={}, problem=f"died of {signal.Signals(-done.returncode).name}")
    if done.returncode > 0:
        return Answer(facts={}, problem=(done.stderr.strip().splitlines() or ["failed without a word"])[-1])
    try:
        return Answer(facts=json.loads(done.stdout))
    except ValueError:
        return Answer(facts={}, problem=f"it printed no answer but {done.stdout[:80]!r}")


def _python() -> list[Check]:
    recent = sys.version_info >= (3, 11)
    return [
        Check(
            name="python",
            state="ok" if recent else "missing",
            detail=f"{platform.python_version()} on {platform.system()} {platform.machine()}",
            blocks="" if recent else "everything: 3.11 or newer is needed",
            fix="" if recent else "make setup PYTHON=python3.12",
        )
    ]


def _packages() -> list[Check]:
    """The installed versions against what the project itself declares."""
    try:
        own, needed = metadata.version("framescribe"), metadata.requires("framescribe") or []
    except metadata.PackageNotFoundError:
        return [_not_installed("framescribe itself is not installed")]
    wrong = [text for requirement in needed if "extra ==" not in requirement and (text := _unmet(requirement))]
    if wrong:
        return [_not_installed("; ".join(wrong))]
    return [Check(name="packages", state="ok", detail=f"framescribe {own} and everything it requires")]


def _not_installed(detail: str) -> Check:
    return Check(name="packages", state="missing", detail=detail, blocks="the stages that import them", fix=SETUP)


def _unmet(requirement: str) -> str:
    """Why a requirement is not met: absent, or another version than the pinned one; empty when it is met."""
    name, _, pinned = re.split(r"[;,\[ ]", requirement, maxsplit=1)[0].partition("==")
    name = re.split(r"[<>=!~]", name, maxsplit=1)[0]
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    return f"{name} is {found}, not {pinned}" if pinned and found != pinned else ""


def _torch() -> list[Check]:
    answer = ask("torch")
    if answer.problem:
        return [
            Check(name="torch", state="missing", detail=answer.problem, blocks="extract, train, caption", fix=SETUP)
        ]
    facts = answer.facts
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cuda = ", ".join(facts["cuda"]) or "no CUDA device: everything runs on the CPU"
    return [
        Check(name="torch", state="ok", detail=f"torch {facts['torch']}, torchvision {facts['torchvision']}"),
        Check(name="devices", state="ok", detail=f"{cores} CPU cores, {facts['threads']} torch threads; {cuda}"),
    ]


def _dvc() -> list[Check]:
    answer = ask("dvc")
    if answer.problem:
        return [Check(name="dvc", state="missing", detail=answer.problem, blocks="dvc repro", fix=SETUP)]
    if not Path(".dvc").is_dir():
        detail = f"dvc {answer.facts['dvc']}, but {Path.cwd()} is not a DVC project"
        return [Check(name="dvc", state="missing", detail=detail, blocks="dvc repro", fix="run this from the root")]
    return [Check(name="dvc", state="ok", detail=f"dvc {answer.facts['dvc']}")]


def _decoders() -> list[Check]:
    with tempfile.TemporaryDirectory() as folder:
        clip = str(Path(folder) / "clip.mp4")
        written = ask("write_clip", clip)
        if written.problem:
            blocks = "demo-data, decode, extract"
            return [Check(name="decoder pyav", state="missing", detail=written.problem, blocks=blocks, fix=SETUP)]
        return [
            _decoder("pyav", ask("pyav", clip), state="missing", blocks="decode, extract, report"),
            _decoder("decord", ask("decord", clip), state="warn", blocks="nothing: PyAV reads every video instead"),
        ]


def _decoder(name: str, answer: Answer, *, state: Literal["warn", "missing"], blocks: str) -> Check:
    facts, problem = answer.facts, answer.problem
    if not problem and (facts["frames"] != CLIP_FRAMES or not facts["in_order"]):
        order = "" if facts["in_order"] else ", not in order"
        problem = f"read {facts['frames']} frames of a clip that has {CLIP_FRAMES}{order}"
    if problem:
        return Check(name=f"decoder {name}", state=state, detail=problem, blocks=blocks, fix=SETUP)
    inside = f" (FFmpeg {facts['ffmpeg']})" if "ffmpeg" in facts else ""
    detail = f"{facts['version']}{inside}: decoded {facts['frames']} of {CLIP_FRAMES} frames, in order"
    return Check(name=f"decoder {name}", state="ok", detail=detail)


def _java() -> list[Check]:

    try:
        java = metrics.find_java()
    except FramescribeError as error:
        return [Check(name="java", state="missing", detail=error.message, blocks="evaluate", fix=error.hint)]
    return [Check(name="java", state="ok", detail=f"{java.version} (from {java.source})")]


def _params() -> list[Check]:

    values = params.load_params()  # what is wrong with it is this check's finding
    detail = f"data set {values.dataset.name}, {len(values.extract)} extractor(s), {len(values.train)} run(s)"
    return [Check(name="params.yaml", state="ok", detail=detail)]


def _valid_params() -> params.Params | None:

    try:
        return params.load_params()
    except FramescribeError:
        return None


def _dataset() -> list[Check]:

    values = _valid_params()
    if values is None:
        return []
    dataset, name = values.dataset, f"data set {values.dataset.name}"
    switch = f"framescribe dataset use {dataset.name} --videos DIR --annotations FILE"
    fix = "framescribe demo-data" if dataset.name == "demo" else switch
    absent = partial(Check, name=name, state="missing", blocks="decode, assemble")
    files = _count_videos(Path(dataset.videos))
    if not files:
        return [absent(detail=f"no videos in {dataset.videos}", fix=fix)]
    try:
        annotations = datasets.load_annotations(dataset)
    except FramescribeError as error:
        return [absent(detail=error.message, fix=error.hint or fix)]
    splits = ", ".join(f"{len(videos)} {split}" for split, videos in annotations.splits.items())
    return [Check(name=name, state="ok", detail=f"{files} files in {dataset.videos}; {splits}")]


def _count_videos(folder: Path) -> int:

    if is_listing(folder):
        return len(read_listing(folder))
    return sum(file.is_file() for file in os.scandir(folder)) if folder.is_dir() else 0


def _weights() -> list[Check]:
    """Those that params.yaml needs; `framescribe weights list` has all."""

    values = _valid_params()
    users: dict[str, list[str]] = {}
    for extractor, section in (values.extract if values else {}).items():
        if section.weights not in weights.WITHOUT_FILE:
            users.setdefault(section.weights, []).append(f"extract@{extractor}")
    return [_one_weights(name, stages) for name, stages in users.items()]


def _one_weights(name: str, stages: list[str]) -> Check:

    absent = partial(Check, name=f"weights {name}", state="missing", blocks=", ".join(stages))
    try:
        state, entry = weights.status(name), weights.entry(name)
    except UsageError as error:
        return absent(detail=error.message, fix="edit params.yaml")
    if state != "present":
        return absent(detail=f"{state}: {entry.description} ({entry.licence})", fix=weights.fetch_command(name))
    return Check(name=f"weights {name}", state="ok", detail=entry.description)


def _disk() -> list[Check]:

    cache = cache_folder("features")
    return [_free("disk, project", Path.cwd()), _free(f"disk, cache {cache.parent}", cache)]


def _free(name: str, folder: Path) -> Check:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free / 1e9
    state: Literal["ok", "warn", "missing"] = "ok" if free >= LOW_DISK else "warn" if free >= NO_DISK else "missing"
    return Check(
        name=name,
        state=state,
        detail=f"{free:.1f} GB free",
        blocks="" if state == "ok" else "extract and train, when it is full",
        fix="" if state == "ok" else "free some space, or set FRAMESCRIBE_CACHE to a folder on another disk",
    )
