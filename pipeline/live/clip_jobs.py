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
from pipeline.live.clip_job import ClipJob, stages_of
from pipeline.live.job_process import JobProcess

MOST_WAITING = 20
MOST_KEPT = 60  # finished ones, with their clips
MOST_SECONDS = 3600.0  # of one job; decoding and extraction have limits of their own
IDLE_SECONDS = 30.0  # that a process waits for the next clip: it has all libraries loaded


class ClipJobs:
    def __init__(self, folder: Path, *, device: str) -> None:
        self.folder = folder
        self.device = device
        self._jobs: dict[str, ClipJob] = {}  # in the order in which they came
        self._changed = threading.Condition()
        self._closing = False
        self._process: JobProcess | None = None  # of the thread below; others may only kill it
        folder.mkdir(parents=True)
        self._thread = threading.Thread(target=self._run_all, daemon=True)
        self._thread.start()

    def require_room(self) -> None:
        with self._changed:
            waiting = sum(job.state == "waiting" for job in self._jobs.values())
        if waiting >= MOST_WAITING:
            raise UsageError(f"{waiting} clips are waiting already", hint="wait until one is done, or cancel one")

    def new_folder(self) -> Path:
        folder = self.folder / secrets.token_urlsafe(9)
        folder.mkdir(parents=True)  # another machine that shares the cache may have taken a day-old server for dead
        return folder

    def add(
        self, folder: Path, *, title: str, video: Path, runs: Mapping[str, Sequence[str]], known_as: str = ""
    ) -> ClipJob:
        """`runs`: the extractors of each."""
        self.require_room()
        job = ClipJob(folder.name, title, video, tuple(runs), folder, stages_of(runs), known_as)
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
            working = job.state == "running"
            if job.ended:
                return
            job.finish("cancelled")
            if working and self._process is not None:
                self._process.kill()
        job.clean()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for job in self.listed():
            self.cancel(job)
        self._thread.join()

    def _run_all(self) -> None:
        while not self._closing:
            job = self._next()
            if job is None:
                self._end_process()
            else:
                self._run(job)
        self._end_process()

    def _next(self) -> ClipJob | None:
        """The one that has waited for longest; none when none came for a while."""
        with self._changed:
            self._changed.wait_for(self._awaited, IDLE_SECONDS if self._process else None)
            waiting = [job for job in self._jobs.values() if job.state == "waiting"]
            if self._closing or not waiting:
                return None
            waiting[0].begin()
            return waiting[0]

    def _awaited(self) -> bool:
        return self._closing or any(job.state == "waiting" for job in self._jobs.values())

    def _run(self, job: ClipJob) -> None:
        try:
            problem = self._work(job, self._ready_process())
        except Exception as error:  # noqa: BLE001 - no room for a process, say; all other clips wait for this thread
            problem = f"{type(error).__name__}: {error}"
            self._end_process()
        with self._changed:
            if not job.ended:
                if problem:
                    job.problem = {"reason": "", "message": problem}
                job.finish("failed" if job.problem else "done")
        job.clean()

    def _ready_process(self) -> JobProcess:
        if self._process is not None and not self._process.alive():
            self._end_process()
        with self._changed:
            self._process = self._process or JobProcess(self.folder)
            return self._process

    def _work(self, job: ClipJob, process: JobProcess) -> str:
        """How the process died, if it did: before its last message, whether or not the kernel is done with it."""
        finished = False
        timer = threading.Timer(MOST_SECONDS, process.kill)
        timer.start()
        try:
            for told in process.work(job.request(device=self.device)) if not job.ended else ():
                finished = "ended" in told
                with self._changed:
                    if not job.ended:
                        job.heard(told)
        finally:
            timer.cancel()
        return "" if finished else self._end_process()

    def _end_process(self) -> str:
        """How it ended, and its last words."""
        with self._changed:
            process, self._process = self._process, None
        if process is None:
            return ""
        code, last_words = process.close()
        if code == -SIGKILL:
            return f"its process was killed: it took more than {MOST_SECONDS / 60:.0f} minutes, or all of the memory"
        return f"its process ended with {code}: {last_words}"

    def _forget_oldest(self) -> None:
        ended = [job for job in self._jobs.values() if job.ended]
        for job in ended[: max(0, len(ended) - MOST_KEPT)]:
            del self._jobs[job.id]
            shutil.rmtree(job.folder, ignore_errors=True)
