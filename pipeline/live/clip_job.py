"""One clip to be captioned: where it stands, stage by stage, and the process that works on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.live.advice import advice

PROGRAM = (sys.executable, "-m", "pipeline.live.job_child")
MOST_SECONDS = 3600.0  # of one job; decoding and extraction have limits of their own
LAST_WORDS = 600  # characters of what a process wrote before it died
State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass
class Stage:
    run: str  # none for what all runs share
    name: str
    of: str = ""  # the extractors that share the pass
    done: int = 0
    total: int = 0
    began: float | None = None
    ended: float | None = None

    def facts(self) -> dict[str, Any]:
        seconds = None if self.began is None else round((self.ended or time.monotonic()) - self.began, 2)
        state = "waiting" if self.began is None else "running" if self.ended is None else "done"
        kept = self.began is None and self.ended is not None
        shown = {"run": self.run, "name": self.name, "of": self.of, "done": self.done, "total": self.total}
        return shown | {"seconds": seconds, "state": "kept" if kept else state}


@dataclass
class ClipJob:
    """Its fields are changed under the lock of the jobs; only the thread that runs it waits for its process."""

    id: str
    title: str  # what people call the clip
    video: Path
    runs: Sequence[str]
    folder: Path
    stages: list[Stage]
    state: State = "waiting"
    problem: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    def heard(self, line: str) -> None:
        """A line of the process: a stage that began or went on, or why there is no sentence."""
        told = json.loads(line)
        if "problem" in told:
            self.problem = told["problem"] | advice(told["problem"]["reason"])
            return
        named = [(stage.run, stage.name) for stage in self.stages]
        place = named.index((told["run"], told["stage"]))
        self._reach(place)
        self.stages[place].done, self.stages[place].total = told["done"], told["total"]

    def begin(self) -> None:
        self.state = "running"
        self._reach(0)

    def finish(self, state: State) -> None:
        self.state = state
        if state == "done":
            self._reach(len(self.stages))
        for stage in self.stages:
            if stage.began is not None:
                stage.ended = stage.ended or time.monotonic()

    def _reach(self, place: int) -> None:
        """Stages before it are over; those that never began had nothing to do: the cache had it all."""
        now = time.monotonic()
        for stage in self.stages[:place]:
            stage.ended = stage.ended or now
        if place < len(self.stages) and self.stages[place].began is None:
            self.stages[place].began = now


def stages_of(runs: Mapping[str, Sequence[str]]) -> list[Stage]:
    """Of each run decoding, its extractors, the search; then the frames to show."""
    stages = [Stage("", "start")]
    for run, extractors in runs.items():
        stages += [Stage(run, "decode"), Stage(run, "extract", ", ".join(extractors)), Stage(run, "search")]
    return [*stages, Stage("", "pictures")]


def start_process(job: ClipJob, *, device: str, errors: Any) -> subprocess.Popen[str]:
    """In a session of its own, so that it goes with everything that it started."""
    process = subprocess.Popen(
        PROGRAM,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": _python_path(), "TMPDIR": str(job.folder)},
    )
    given = {"folder": str(job.folder), "video": str(job.video), "runs": list(job.runs), "device": device}
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(given) + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    return process


def _python_path() -> str:
    root = str(Path(__file__).parents[2])
    return os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH")) if part)


def end_process(process: subprocess.Popen[str]) -> None:
    """And its decoders: whatever they are doing."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            stream.close()  # type: ignore[union-attr]


def clean(job: ClipJob, *, keep: Sequence[str]) -> None:
    """Remove everything of its folder but files of these names."""
    for path in job.folder.iterdir() if job.folder.is_dir() else ():
        if path.name in keep:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def errors_file(job: ClipJob) -> Any:
    return tempfile.TemporaryFile("w+", dir=job.folder, errors="replace")
