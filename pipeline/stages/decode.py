"""Index the videos by really decoding them: true frame counts and times, and a reason for each file that fails."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

from pipeline.console import Console, printable
from pipeline.errors import InputError, TooManyFailedError, UsageError
from pipeline.execution import Executor, Threads

if TYPE_CHECKING:
    import numpy as np

    from pipeline.decoding import Limits
    from pipeline.index import QuarantineRow, VideoRow
    from pipeline.params import Decode

Place = Path | str  # a file or folder, or a URL
OUT = Path("data/index")
WHERE_VIDEOS_COME_FROM = "framescribe demo-data makes the demo set; framescribe dataset use points at your own"
# What lies beside videos and is not one. Any other file is taken for a video and must prove itself.
SIDECARS = frozenset(
    {".txt", ".md", ".json", ".jsonl", ".csv", ".tsv", ".xml", ".yaml", ".yml", ".html", ".py", ".log", ".dvc"}
    | {".srt", ".vtt", ".ass", ".nfo", ".sha256", ".md5", ".zip", ".gz", ".tar", ".jpg", ".jpeg", ".png"}
    | {".wav", ".mp3", ".flac", ".aac", ".npy", ".npz", ".pt", ".pkl", ".h5", ".safetensors"}
)


@dataclass(frozen=True)
class Outcome:
    """What became of one file; `times` belong to a usable one."""

    row: VideoRow | QuarantineRow
    times: np.ndarray | None = None
    known: bool = False  # from the cache: nothing was decoded


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("videos", nargs="?", help="a folder, a file, a URL or a list of URLs; default: dataset.videos")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the index goes (default: {OUT})")
    parser.add_argument("--max-failed", type=int, help="unusable files to accept; default: decode.max_failed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="videos at a time (default: all CPUs)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import PARAMS_FILE, Decode, load_params

    if args.workers < 1:
        raise UsageError(f"--workers is {args.workers}, it must be at least 1")
    settings = load_params() if args.videos is None or PARAMS_FILE.is_file() else None
    params = settings.decode if settings else Decode()
    if args.max_failed is not None:
        params = Decode.model_validate({**params.model_dump(), "max_failed": args.max_failed})
    videos = args.videos or settings.dataset.videos  # type: ignore[union-attr]  # loaded when there is no argument
    machine = args.machine()
    executor = machine.executor if machine.is_cluster else None
    return run(videos=videos, out=args.out, params=params, workers=args.workers, executor=executor, console=console)


def run(
    *,
    videos: Place | Sequence[Place],
    out: Path,
    params: Decode,
    workers: int = 1,
    executor: Executor | None = None,
    console: Console,
) -> dict[str, Any]:
    """Publish the index of every video below `videos`; the same bytes whatever the number of workers.

    Without an executor `workers` threads each wait for a decoding child.
    """
    from pipeline.decoding.guard import kill_all
    from pipeline.index import VideoRow, write_index

    paths = find_videos(videos)
    executor = executor or Threads(workers, stop=kill_all)
    found = list(_examine_all(paths, params=params, executor=executor, console=console))
    place = {video_id: position for position, video_id in enumerate(paths)}
    outcomes = sorted(found, key=lambda outcome: place[outcome.row.id])
    rows = [outcome.row for outcome in outcomes if isinstance(outcome.row, VideoRow)]
    refused = [outcome.row for outcome in outcomes if not isinstance(outcome.row, VideoRow)]
    times = {outcome.row.id: outcome.times for outcome in outcomes if outcome.times is not None}
    write_index(out, rows, times=times, quarantined=refused)
    known = sum(outcome.known for outcome in outcomes)
    _show(rows, refused, known=known, out=out, console=console)
    _check(refused, allowed=params.max_failed, out=out)
    return {"out": str(out), "videos": len(rows), "frames": sum(row.frames for row in rows), "known": known} | {
        "quarantined": {row.id: row.reason for row in refused},
        "warned": sum(bool(row.warnings) for row in rows),
        "backends": dict(sorted(Counter(row.backend for row in rows).items())),
    }


def find_videos(videos: Place | Sequence[Place]) -> dict[str, Place]:
    """Files by id, which is the name without its suffix; sub-folders are searched, hidden names are passed over."""
    places, hint = _asked_for(videos)
    found: dict[str, Place] = {}
    for path in (path for place in places for path in _below(place, hint=hint)):
        video_id = PurePosixPath(path).stem
        other = found.setdefault(video_id, path)
        if other != path:
            raise InputError(f"'{other}' and '{path}' would both have the id '{video_id}'", hint="rename one of them")
    if not found:
        named = ", ".join(f"'{place}'" for place in places)
        raise InputError(f"{named} holds no files", hint=hint)
    return found


def _asked_for(videos: Place | Sequence[Place]) -> tuple[Sequence[Place], str]:
    """Several are what somebody typed; one is what params.yaml says."""
    if isinstance(videos, Path | str):
        return [videos], WHERE_VIDEOS_COME_FROM
    return videos, "give paths of videos, or of folders of them"


def _below(place: Place, *, hint: str) -> Sequence[Place]:
    from pipeline.objects.listing import is_listing, read_listing
    from pipeline.objects.transfer import below, is_url

    if isinstance(place, str) and is_url(place):
        return [url for url in below(place) if _may_be_video(PurePosixPath(url))]
    place = Path(place)
    if is_listing(place):
        return [url for url in read_listing(place) if _may_be_video(PurePosixPath(url))]
    if not os.path.lexists(place):
        raise InputError(f"there is no '{place}'", hint=hint)
    return sorted(_walk(place, seen=set())) if place.is_dir() else [place]


def limits_of(params: Decode) -> Limits:
    from pipeline.decoding import Limits

    values = params.model_dump(include={"timeout", "stall", "max_pixels", "max_memory_mb"})
    return Limits(**values)


def _walk(folder: Path, *, seen: set[tuple[int, int]]) -> Iterator[Path]:
    """Every entry that is not a folder; a folder reached twice (by a link) is entered once."""
    status = folder.stat()
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            yield from _walk(path, seen=seen)
        elif _may_be_video(path):
            yield path


def _may_be_video(path: PurePath) -> bool:
    return not path.name.startswith(".") and path.suffix.lower() not in SIDECARS


def _examine_all(paths: dict[str, Place], *, params: Decode, executor: Executor, console: Console) -> Iterator[Outcome]:
    from pipeline.decoding.guard import close_idle

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

    def __call__(self, item: tuple[str, str]) -> Outcome:
        import numpy as np

        from pipeline.decoding.cache import examined
        from pipeline.decoding.findings import row_from
        from pipeline.decoding.reasons import DecodeError
        from pipeline.index import QuarantineRow

        video_id, path = item
        try:
            sha256, facts, known = examined(path, limits=self.limits)
        except DecodeError as error:
            message = f"{error.message}; {error.hint}" if error.hint else error.message
            return Outcome(QuarantineRow(video_id, path, error.reason, message))
        row = row_from(facts, video_id=video_id, path=path, sha256=sha256)
        return Outcome(row, times=np.array(facts["times"]), known=known)

    def give_up(self, item: tuple[str, str], why: str) -> Outcome:
        from pipeline.index import QuarantineRow

        video_id, path = item
        return Outcome(QuarantineRow(video_id, path, "worker-lost", why))


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
