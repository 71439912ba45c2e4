"""The stage `decode`: every video is really decoded, and the video index says what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import (
    Changes,
    Console,
    DecodeError,
    Executor,
    Threads,
    TooManyFailedError,
    no_changes,
    printable,
    unchanged,
)
from pipeline.decoding.decode_cache import examined
from pipeline.decoding.findings import row_from
from pipeline.decoding.guard import close_idle, kill_all
from pipeline.decoding.limits import Limits
from pipeline.decoding.video_files import VideoPlace, find_videos
from pipeline.index import QuarantineRow, VideoRow, write_index
from pipeline.params import Decode


@dataclass(frozen=True)
class DecodeOutcome:
    """What became of one file; `times` belong to a usable one."""

    row: VideoRow | QuarantineRow
    times: np.ndarray | None = None
    known: bool = False  # from the cache: nothing was decoded


def decode_videos(
    *,
    videos: VideoPlace | Sequence[VideoPlace],
    out: Path,
    params: Decode,
    workers: int = 1,
    executor: Executor | None = None,
    console: Console,
    in_use: Changes = no_changes,
) -> dict[str, Any]:
    """Publish the index of every video below `videos`; the same bytes whatever the number of workers.

    Without an executor `workers` threads each wait for a decoding child.
    """

    paths = find_videos(videos)
    executor = executor or Threads(workers, stop=kill_all)
    found = list(_examine_all(paths, params=params, executor=executor, console=console))
    place = {video_id: position for position, video_id in enumerate(paths)}
    outcomes = sorted(found, key=lambda outcome: place[outcome.row.id])
    rows = [outcome.row for outcome in outcomes if isinstance(outcome.row, VideoRow)]
    refused = [outcome.row for outcome in outcomes if not isinstance(outcome.row, VideoRow)]
    times = {outcome.row.id: outcome.times for outcome in outcomes if outcome.times is not None}
    with unchanged(values=in_use) as inputs:
        inputs.require_unchanged()
        write_index(out, rows, times=times, quarantined=refused)
    known = sum(outcome.known for outcome in outcomes)
    _show(rows, refused, known=known, out=out, console=console)
    _check(refused, allowed=params.max_failed, out=out)
    return {"out": str(out), "videos": len(rows), "frames": sum(row.frames for row in rows), "known": known} | {
        "quarantined": {row.id: row.reason for row in refused},
        "warned": sum(bool(row.warnings) for row in rows),
        "backends": dict(sorted(Counter(row.backend for row in rows).items())),
    }


def limits_of(params: Decode) -> Limits:
    values = params.model_dump(include={"timeout", "stall", "max_pixels", "max_memory_mb"})
    return Limits(**values)


def _examine_all(
    paths: dict[str, VideoPlace], *, params: Decode, executor: Executor, console: Console
) -> Iterator[DecodeOutcome]:
    work = ExamineVideo(limits_of(params))
    with console.progress("decode", len(paths)) as progress:
        for outcome in executor.map(work, [(video_id, str(path)) for video_id, path in paths.items()]):
            progress.advance(note=printable(outcome.row.id))
            yield outcome
    close_idle()


@dataclass(frozen=True)
class ExamineVideo:
    """Work for an executor: what is finished is in the cache."""

    limits: Limits

    def __call__(self, item: tuple[str, str]) -> DecodeOutcome:
        video_id, path = item
        try:
            sha256, facts, known = examined(path, limits=self.limits)
        except DecodeError as error:
            message = f"{error.message}; {error.hint}" if error.hint else error.message
            return DecodeOutcome(QuarantineRow(video_id, path, error.reason, message))
        row = row_from(facts, video_id=video_id, path=path, sha256=sha256)
        return DecodeOutcome(row, times=np.array(facts["times"]), known=known)

    def give_up(self, item: tuple[str, str], why: str) -> DecodeOutcome:
        video_id, path = item
        return DecodeOutcome(QuarantineRow(video_id, path, "worker-lost", why))


def _show(rows: list[VideoRow], refused: list[QuarantineRow], *, known: int, out: Path, console: Console) -> None:
    flagged = [row for row in rows if row.warnings]
    if flagged:
        table = [(printable(row.id), row.frames, row.lost, row.backend, "; ".join(row.warnings)) for row in flagged]
        console.table(("usable with warnings", "frames", "lost", "backend", "what"), table)
    if refused:
        console.table(
            ("quarantined", "reason", "what"),
            [(printable(row.id), row.reason, printable(row.message.replace(f"'{row.path}'", "it"))) for row in refused],
        )
    frames = sum(row.frames for row in rows)
    seconds = sum(row.duration for row in rows)
    backends = ", ".join(f"{count} {name}" for name, count in sorted(Counter(row.backend for row in rows).items()))
    console.say(f"{len(rows)} videos, {frames} frames, {seconds:.1f} s ({backends or 'none'}); {known} already known")
    console.say(f"{len(flagged)} with warnings, {len(refused)} quarantined; index in {out}")


def _check(refused: list[QuarantineRow], *, allowed: int, out: Path) -> None:
    if len(refused) > allowed:
        first = [f"{printable(row.id)}: {row.reason}" for row in refused[:3]]
        listing = "; ".join([*first, "..."] if len(refused) > 3 else first)
        raise TooManyFailedError(
            f"{len(refused)} files cannot be used, {allowed} are allowed ({listing})",
            hint=f"look at {out}/quarantine.jsonl; remove the files, or raise --max-failed (decode.max_failed)",
        )
