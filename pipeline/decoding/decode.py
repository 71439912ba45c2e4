"""The stage `decode`: every video is really decoded, and the video index says what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
from pipeline.decoding.backends import require_backend
from pipeline.decoding.decode_cache import Examination, examination, known_of
from pipeline.decoding.findings import row_from
from pipeline.decoding.guard import close_idle, kill_all
from pipeline.decoding.hash_memory import HashMemory
from pipeline.decoding.limits import Limits
from pipeline.decoding.listed_videos import ListedVideos, list_videos
from pipeline.decoding.spooled_times import SpooledTimes
from pipeline.decoding.video_files import VideoPlace
from pipeline.index import QuarantineRow, VideoRow, write_index
from pipeline.params import Decode


@dataclass(frozen=True)
class DecodeOutcome:
    """What became of one file."""

    row: VideoRow | QuarantineRow
    times: list[float] | None = None  # of a usable one
    found: Examination | None = None  # without its facts


def decode_videos(
    *,
    videos: VideoPlace | Sequence[VideoPlace],
    out: Path,
    params: Decode,
    workers: int = 1,
    executor: Executor | None = None,
    console: Console,
    in_use: Changes = no_changes,
    verify: bool = False,
) -> dict[str, Any]:
    """Publish the index of every video below `videos`; the same bytes whatever the number of workers.

    Without an executor `workers` threads each wait for a decoding child. With `verify` every file is hashed, also those
    that nobody touched since they were.
    """

    require_backend(params.backend)
    listed = list_videos(videos)
    executor = executor or Threads(workers, stop=kill_all)
    told, times, known = {}, SpooledTimes(), 0
    for outcome in _examine_all(listed, params=params, executor=executor, console=console, verify=verify):
        told[outcome.row.id] = outcome.row
        if outcome.found and outcome.times is not None:
            known += outcome.found.known
            times.add(outcome.row.id, outcome.times)
    in_order, limits = [told[video_id] for video_id in listed.paths], limits_of(params)
    rows = [row for row in in_order if isinstance(row, VideoRow)]
    refused = [row for row in in_order if isinstance(row, QuarantineRow)]
    with unchanged(values=lambda: [*in_use(), *listed.changes(in_order, limits=limits)]) as inputs:
        inputs.require_unchanged()
        write_index(out, rows, times=times, quarantined=refused)
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
    listed: ListedVideos, *, params: Decode, executor: Executor, console: Console, verify: bool
) -> Iterator[DecodeOutcome]:
    """First what nobody touched, which is looked up here; the workers have the others."""
    work = ExamineVideo(limits_of(params), params.backend)
    memory, others = HashMemory(*listed.places), []
    with console.progress("decode", len(listed.paths)) as progress:
        for item in ((video_id, str(path)) for video_id, path in listed.paths.items()):
            sha256 = None if verify else memory.sha256(item[1], listed.marks[item[1]])
            if (looked_up := work.look_up(item, sha256)) is None:
                others.append(item)
                continue
            progress.advance(note=printable(item[0]))
            yield looked_up
        try:
            for outcome in executor.map(work, others) if others else ():
                if outcome.found:
                    _remember(memory, listed, outcome.row.path, outcome.found)
                progress.advance(note=printable(outcome.row.id))
                yield outcome
        finally:
            memory.save()  # a stopped run too hashes nothing again
    close_idle()


def _remember(memory: HashMemory, listed: ListedVideos, path: str, found: Examination) -> None:
    memory.remember(path, listed.marks[path], found.sha256, hashed=found.mark, seen=listed.seen)


@dataclass(frozen=True)
class ExamineVideo:
    """Work for an executor: what is finished is in the cache."""

    limits: Limits
    backend: str

    def __call__(self, item: tuple[str, str]) -> DecodeOutcome:
        try:
            found = examination(item[1], limits=self.limits, backend=self.backend)
        except DecodeError as error:
            return DecodeOutcome(_refusal(error, item))
        return _outcome(item, found)

    def look_up(self, item: tuple[str, str], sha256: str | None) -> DecodeOutcome | None:
        """Of a file whose content is known without a look at it."""
        found = None if sha256 is None else known_of(sha256, limits=self.limits, backend=self.backend)
        return None if found is None else _outcome(item, found)

    def give_up(self, item: tuple[str, str], why: str) -> DecodeOutcome:
        video_id, path = item
        return DecodeOutcome(QuarantineRow(video_id, path, "worker-lost", why))


def _outcome(item: tuple[str, str], found: Examination) -> DecodeOutcome:
    video_id, path = item
    facts, bare = found.facts, replace(found, facts={})
    try:
        found.require_usable(path)
    except DecodeError as error:
        return DecodeOutcome(_refusal(error, item), found=bare)
    row = row_from(facts, video_id=video_id, path=path, sha256=found.sha256)
    return DecodeOutcome(row, times=facts["times"], found=bare)


def _refusal(error: DecodeError, item: tuple[str, str]) -> QuarantineRow:
    message = f"{error.message}; {error.hint}" if error.hint else error.message
    return QuarantineRow(*item, error.reason, message)


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
