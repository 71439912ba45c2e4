"""One clip to be captioned, and where it stands, stage by stage."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.live.advice import advice

State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass
class Stage:
    run: str  # none for what all runs share
    name: str
    of: str = ""  # the extractor
    done: int = 0
    total: int = 0
    began: float | None = None
    ended: float | None = None

    def count(self, done: int, total: int) -> None:
        """An extractor is over with its last row, and goes on when a pass is tried again; others end with the next."""
        self.done, self.total = done, total
        if self.of:
            self.ended = time.monotonic() if 0 < total <= done else None

    def facts(self) -> dict[str, Any]:
        seconds = None if self.began is None else round((self.ended or time.monotonic()) - self.began, 2)
        state = "waiting" if self.began is None else "running" if self.ended is None else "done"
        kept = self.ended is not None and (self.began is None or bool(self.of and not self.total))
        shown = {"run": self.run, "name": self.name, "of": self.of, "done": self.done, "total": self.total}
        return shown | {"seconds": seconds, "state": "kept" if kept else state}


@dataclass
class ClipJob:
    """Its fields are changed under the lock of the jobs."""

    id: str
    title: str  # what people call the clip
    video: Path
    runs: Sequence[str]
    folder: Path
    stages: list[Stage]
    known_as: str = ""  # its id, if it is a video of the project
    state: State = "waiting"
    problem: dict[str, str] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    def request(self, *, device: str) -> dict[str, Any]:
        """What the process is told."""
        return {"folder": str(self.folder), "video": str(self.video), "runs": list(self.runs), "device": device}

    def heard(self, told: Mapping[str, Any]) -> None:
        """A message of the process: a stage that began or went on, or why there is no sentence."""
        if "problem" in told:
            message = told["problem"]["message"].replace(str(self.video), self.title)  # nobody chose that path
            self.problem = told["problem"] | {"message": message} | advice(told["problem"]["reason"])
            return
        places = {(stage.run, stage.name, stage.of): place for place, stage in enumerate(self.stages)}
        place = places.get((told.get("run", ""), told.get("stage", ""), told.get("of", "")))
        if place is not None:
            self._reach(place)
            self.stages[place].count(told["done"], told["total"])

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
        """Stages before it are over; those that never began had nothing to do: the cache had it all.

        The extractors of a run work side by side, in one pass over the clip.
        """
        now = time.monotonic()
        reached = self.stages[place] if place < len(self.stages) else None
        for stage in self.stages[:place]:
            if reached is None or (stage.run, stage.name) != (reached.run, reached.name):
                stage.ended = stage.ended or now
        if reached is not None and reached.began is None:
            reached.began = now

    def clean(self) -> None:
        """Keep the clip and what people may ask for; of a cancelled one nothing."""
        kept = {"done": {"clip", "result.json", *(f"{run}.json" for run in self.runs)}, "failed": {"clip"}}.get(
            self.state, set()
        )
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name in kept:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def stages_of(runs: Mapping[str, Sequence[str]]) -> list[Stage]:
    """Of each run decoding, each of its extractors, the search; then the frames to show."""
    stages = [Stage("", "start")]
    for run, extractors in runs.items():
        stages += [Stage(run, "decode"), *(Stage(run, "extract", each) for each in extractors), Stage(run, "search")]
    return [*stages, Stage("", "pictures")]
