"""The process that captions clips for the page, by the code of `framescribe caption VIDEO --run RUN`.

It tells how far it is in lines of JSON. It may be killed at any moment, writes into the job's folder only, and ends
when the server does.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from pipeline import captioning, report
from pipeline.captioner import open_run
from pipeline.captioning import AnyVideoSettings, Captioned
from pipeline.core import HERE, SILENT, Console, FramescribeError, Progress, claim_semaphores, write_json
from pipeline.extraction import rows_told
from pipeline.index import read_index
from pipeline.params import load_params

RESULT = "result.json"


@dataclass(frozen=True)
class StageConsole(Console):
    """Says nothing to a terminal; each progress is a stage of the job."""

    run: str = ""
    out: TextIO = sys.stdout

    def tell(self, **facts: Any) -> None:
        self.out.write(json.dumps(facts) + "\n")
        self.out.flush()

    def without(self, hidden: str) -> Console:
        del hidden
        return self

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Progress]:
        """Of extraction each extractor tells its rows itself; before the first, libraries are loaded."""
        if label.startswith("extract "):
            for extractor in label.split()[1:]:
                self.tell_rows(extractor, 0, 0)
            yield SILENT
            return
        self.tell(run=self.run, stage=label.split()[0], done=0, total=total)
        yield _Told(self, label.split()[0], total)

    def tell_rows(self, extractor: str, made: int, total: int) -> None:
        self.tell(run=self.run, stage="extract", of=extractor, done=made, total=total)


@dataclass
class _Told:
    console: StageConsole
    stage: str
    total: int
    done: int = 0

    def advance(self, steps: int = 1, note: str = "") -> None:
        del note
        self.done += steps
        self.console.tell(run=self.console.run, stage=self.stage, done=self.done, total=self.total)


def caption_clip(job: dict[str, Any], *, out: TextIO) -> None:
    folder = Path(job["folder"])
    captioned, others = [], {}
    for number, run in enumerate(job["runs"]):
        console = StageConsole(quiet=True, run=run, out=out)
        done, others[run] = _by_run(run, job, work=folder / f"run{number}", console=console)
        captioned.append(done)
    with StageConsole(out=out).progress("pictures", 1):
        shown = report.captioned_contents(captioned)
    unlike = {each.record["run"]: like.told() for each in captioned for like in each.likeness.values() if like.unlike}
    dataset = load_params().dataset.name
    trained = {each.record["run"]: report.trained_on(each.record, dataset=dataset) for each in captioned}
    warnings = [each for row in captioned[0].index.rows.values() for each in row.warnings]  # all runs read one clip
    told = {"unlike": unlike, "trained": trained, "warnings": warnings}
    write_json(folder / RESULT, {"shown": shown, "others": others} | told)


def _by_run(run: str, job: dict[str, Any], *, work: Path, console: StageConsole) -> tuple[Captioned, dict[str, Any]]:
    values = load_params()
    settings = AnyVideoSettings(
        extractors=values.extract,
        decode=values.decode,
        caption=values.caption,
        executor=HERE,
        device=job["device"],
        work=work,
    )
    video, out = job["video"], Path(job["folder"]) / f"{run}.json"
    try:
        with rows_told(console.tell_rows):
            done = captioning.caption_own_videos([video], run=run, out=out, settings=settings, console=console)
    except FramescribeError:
        _raise_refusal(work / "index")
        raise
    for id_, why in done.refused.items():
        reason, _, message = why.partition(": ")
        raise RefusedClipError(f"{id_}: {message or why}", reason=reason.split(" in ")[0])
    trained = open_run(Path("runs") / run, device=job["device"], features=work / "features")
    others = captioning.alternatives_of(
        trained,
        next(iter(done.captions)),
        params=captioning.without_loops(values.caption),
        captions=settings.captions,
        device=job["device"],
    )
    return done, asdict(others)


class RefusedClipError(FramescribeError):
    """The clip cannot be captioned; `reason` is a code of the quarantine."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def _raise_refusal(index: Path) -> None:
    """Decoding wrote why, where it got so far."""
    if index.is_dir():
        for row in read_index(index).quarantined.values():
            raise RefusedClipError(row.message, reason=row.reason)


def work(job: dict[str, Any], *, out: TextIO) -> None:
    console = StageConsole(out=out)
    try:
        caption_clip(job, out=out)
    except FramescribeError as error:
        console.tell(problem={"message": error.message, "hint": error.hint, "reason": getattr(error, "reason", "")})
    console.tell(ended=True)


def main() -> None:
    """Each job comes as a line; the end of the input is the end of the server."""
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    heard, out = _own_ends()
    threading.Thread(target=_hear, args=[heard, jobs], daemon=True).start()
    claim_semaphores()
    while True:
        try:
            work(json.loads(jobs.get()), out=out)
        except BaseException:  # noqa: BLE001 - of a process in an unknown state nothing is used again
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)  # and no thread that still waits for something keeps it alive


def _own_ends() -> tuple[TextIO, TextIO]:
    """Of the two pipes to the server, for this process alone: what a library or a child prints is no message."""
    ends = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return ends


def _hear(heard: TextIO, jobs: queue.SimpleQueue[str]) -> None:
    for line in heard:
        jobs.put(line)
    os._exit(1)


if __name__ == "__main__":
    main()
