"""The machine and its installation: Python, packages, devices, decoders, Java, disk. Libraries are tried in a child."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Literal

from pipeline import metrics
from pipeline.core import FramescribeError, cache_folder
from pipeline.doctor.check import SETUP, Check
from pipeline.doctor.probes import CLIP_FRAMES, ProbeResult, run_probe

LOW_DISK, NO_DISK = 5.0, 0.5  # GB


def check_python() -> list[Check]:
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


def check_packages() -> list[Check]:
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


def check_torch(planned: ProbeResult | None = None) -> list[Check]:
    """From what the planning child found; where that broke, by a child of its own: it may not have been torch."""
    answer = run_probe("torch") if planned is None or planned.problem else ProbeResult(facts=planned.facts["torch"])
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


def check_dvc() -> list[Check]:
    answer = run_probe("dvc")
    if answer.problem:
        return [Check(name="dvc", state="missing", detail=answer.problem, blocks="dvc repro", fix=SETUP)]
    if not Path(".dvc").is_dir():
        detail = f"dvc {answer.facts['dvc']}, but {Path.cwd()} is not a DVC project"
        return [Check(name="dvc", state="missing", detail=detail, blocks="dvc repro", fix="run this from the root")]
    return [Check(name="dvc", state="ok", detail=f"dvc {answer.facts['dvc']}")]


def check_decoders() -> list[Check]:
    with tempfile.TemporaryDirectory() as folder:
        clip = str(Path(folder) / "clip.mp4")
        written = run_probe("write_clip", clip)
        if written.problem:
            blocks = "demo-data, decode, extract"
            return [Check(name="decoder pyav", state="missing", detail=written.problem, blocks=blocks, fix=SETUP)]
        instead = "nothing: PyAV reads every video instead"
        return [
            _decoder("pyav", run_probe("pyav", clip), state="missing", blocks="decode, extract, report"),
            _decoder("decord", run_probe("decord", clip), state="warn", blocks=instead),
        ]


def _decoder(name: str, answer: ProbeResult, *, state: Literal["warn", "missing"], blocks: str) -> Check:
    facts, problem = answer.facts, answer.problem
    if not problem and (facts["frames"] != CLIP_FRAMES or not facts["in_order"]):
        order = "" if facts["in_order"] else ", not in order"
        problem = f"read {facts['frames']} frames of a clip that has {CLIP_FRAMES}{order}"
    if problem:
        return Check(name=f"decoder {name}", state=state, detail=problem, blocks=blocks, fix=SETUP)
    inside = f" (FFmpeg {facts['ffmpeg']})" if "ffmpeg" in facts else ""
    detail = f"{facts['version']}{inside}: decoded {facts['frames']} of {CLIP_FRAMES} frames, in order"
    return Check(name=f"decoder {name}", state="ok", detail=detail)


def check_java() -> list[Check]:
    try:
        java = metrics.find_java()
    except FramescribeError as error:
        return [Check(name="java", state="missing", detail=error.message, blocks="evaluate", fix=error.hint)]
    return [Check(name="java", state="ok", detail=f"{java.version} (from {java.source})")]


def check_disk() -> list[Check]:
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
