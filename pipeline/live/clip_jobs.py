"""The clips that are captioned: one computes, a bounded number waits, and the latest finished ones are kept."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL
from typing import Any

from pipeline.core import UsageError
from pipeline.live.clip_job import (
    LAST_WORDS,
    MOST_SECONDS,
    ClipJob,
    State,
    clean,
    end_process,
    errors_file,
    stages_of,
    start_process,
)

MOST_WAITING = 20
MOST_KEPT = 60  # finished ones, with their clips


class ClipJobs:
    def __init__(self, folder: Path, *, device: str) -> None:
        self.folder = folder
        self.device = device
        self._jobs: dict[str, ClipJob] = {}  # in the order in which they came
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run_all, daemon=True)
        self._thread.start()

    def require_room(self) -> None:
        with self._changed:
            waiting = sum(job.state == "waiting" for job in self._jobs.values())
        if waiting >= MOST_WAITING:
            raise UsageError(f"{waiting} clips are waiting already", hint="wait until one is done, or cancel one")

    def new_folder(self) -> Path:
        folder = self.folder / secrets.token_urlsafe(9)
        folder.mkdir(parents=True)
        return folder

    def add(self, folder: Path, *, title: str, video: Path, runs: Mapping[str, Sequence[str]]) -> ClipJob:
        """`runs`: the extractors of each."""
        self.require_room()
        job = ClipJob(folder.name, title, video, tuple(runs), folder, stages_of(runs))
        with self._changed:
            self._jobs[job.id] = job
            self._forget_oldest()
            self._changed.notify_all()
        return job

    def find(self, id_: str) -> ClipJob | None:
        return self._jobs.get(id_)

    def listed(self) -> list[ClipJob]:
        """The newest first."""
        with self._changed:
            return list(self._jobs.values())[::-1]

    def facts(self, job: ClipJob) -> dict[str, Any]:
        with self._changed:
            ahead = [each for each in self._jobs.values() if each.state in ("waiting", "running")]
            place = ahead.index(job) if job.state == "waiting" else 0
            told = {"id": job.id, "title": job.title, "runs": list(job.runs), "state": job.state, "ahead": place}
            return told | {"problem": job.problem, "stages": [each.facts() for each in job.stages]}

    def cancel(self, job: ClipJob) -> None:
        """It ends at once: whatever its process was doing, and its decoders with it."""
        with self._changed:
            process = job.process
            if job.ended:
                return
            job.finish("cancelled")
        if process is not None:
            end_process(process)
        clean(job, keep=())

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for job in self.listed():
            self.cancel(job)
        self._thread.join()

    def _run_all(self) -> None:
        while (job := self._next()) is not None:
            self._run(job)

    def _next(self) -> ClipJob | None:
        with self._changed:
            while not self._closing:
                waiting = (job for job in self._jobs.values() if job.state == "waiting")
                if (job := next(waiting, None)) is not None:
                    job.begin()
                    return job
                self._changed.wait()
        return None

    def _run(self, job: ClipJob) -> None:
        with errors_file(job) as errors:
            with self._changed:
                if job.ended:  # cancelled between the two
                    return
                job.process = start_process(job, device=self.device, errors=errors)
            timer = threading.Timer(MOST_SECONDS, end_process, [job.process])
            timer.start()
            try:
                self._listen(job)
            finally:
                timer.cancel()
                end_process(job.process)
            errors.seek(0)
            self._conclude(job, last_words=errors.read()[-LAST_WORDS:])

    def _listen(self, job: ClipJob) -> None:
        assert job.process is not None and job.process.stdout is not None  # noqa: PT018, S101 - for mypy
        for line in job.process.stdout:
            with self._changed:
                job.heard(line)

    def _conclude(self, job: ClipJob, *, last_words: str) -> None:
        with self._changed:
            code = job.process.returncode if job.process else None
            job.process = None
            if not job.ended:
                state: State = "failed" if job.problem or code else "done"
                if state == "failed" and not job.problem:
                    job.problem = {"reason": "", "message": _ended(code), "hint": last_words}
                job.finish(state)
        kept = {"done": ("clip", "result.json"), "failed": ("clip",)}.get(job.state, ())
        clean(job, keep=[*kept, *(f"{run}.{kind}" for run in job.runs for kind in ("json", "safetensors") if kept)])

    def _forget_oldest(self) -> None:
        ended = [job for job in self._jobs.values() if job.ended]
        for job in ended[: max(0, len(ended) - MOST_KEPT)]:
            del self._jobs[job.id]
            shutil.rmtree(job.folder, ignore_errors=True)


def _ended(code: int | None) -> str:
    if code == -SIGKILL:
        return f"its process was killed: it took more than {MOST_SECONDS / 60:.0f} minutes, or all of the memory"
    return f"its process ended with {code}"
