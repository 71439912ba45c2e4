"""Which files are to be decoded: those of a folder, a list, or an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path, PurePath, PurePosixPath

from pipeline.core import InputError, printable
from pipeline.remote import below, is_listing, is_url, read_listing

VideoPlace = Path | str  # a file or folder, or a URL
WHERE_VIDEOS_COME_FROM = "framescribe demo-data makes the demo set; framescribe dataset use points at your own"
# What lies beside videos and is not one. Any other file is taken for a video and must prove itself.
SIDECARS = frozenset(
    {".txt", ".md", ".json", ".jsonl", ".csv", ".tsv", ".xml", ".yaml", ".yml", ".html", ".py", ".log", ".dvc"}
    | {".srt", ".vtt", ".ass", ".nfo", ".sha256", ".md5", ".zip", ".gz", ".tar", ".jpg", ".jpeg", ".png"}
    | {".db", ".ini", ".lnk", ".pdf", ".docx", ".xlsx", ".xls", ".ods", ".pth", ".run"}
    | {".wav", ".mp3", ".flac", ".aac", ".npy", ".npz", ".pt", ".pkl", ".h5", ".safetensors"}
)


def find_videos(videos: VideoPlace | Sequence[VideoPlace]) -> dict[str, VideoPlace]:
    """Files by id, which is the name without its suffix; sub-folders are searched, hidden names are passed over."""
    places, hint = _asked_for(videos)
    found: dict[str, VideoPlace] = {}
    for path in (path for place in places for path in _below(place, hint=hint)):
        video_id = PurePosixPath(path).stem
        other = found.setdefault(video_id, path)
        if other != path:
            both = f"'{printable(str(other))}' and '{printable(str(path))}'"
            raise InputError(f"{both} would both have the id '{printable(video_id)}'", hint="rename one of them")
    if not places:
        raise InputError("no video was given", hint=hint)
    if not found:
        named = ", ".join(f"'{place}'" for place in places)
        raise InputError(f"{named} holds no files", hint=hint)
    return found


def _asked_for(videos: VideoPlace | Sequence[VideoPlace]) -> tuple[Sequence[VideoPlace], str]:
    """Several are what somebody typed; one is what params.yaml says."""
    if isinstance(videos, Path | str):
        return [videos], WHERE_VIDEOS_COME_FROM
    return videos, "give paths of videos, or of folders of them"


def _below(place: VideoPlace, *, hint: str) -> Sequence[VideoPlace]:
    if isinstance(place, str) and is_url(place):
        return [url for url in below(place) if _may_be_video(PurePosixPath(url))]
    place = Path(place)
    if is_listing(place):
        return [url for url in read_listing(place) if _may_be_video(PurePosixPath(url))]
    if not os.path.lexists(place):
        raise InputError(f"there is no '{place}'", hint=hint)
    return sorted(_walk(place, seen=set()), key=attrgetter("parts")) if place.is_dir() else [place]


def _walk(folder: Path, *, seen: set[tuple[int, int]]) -> Iterator[Path]:
    """Every entry that is not a folder; a folder reached twice (by a link) is entered once."""
    status = folder.stat()
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for path in sorted(folder.iterdir(), key=attrgetter("name")):
        if path.is_dir() and not path.name.startswith("."):
            yield from _walk(path, seen=seen)
        elif _may_be_video(path):
            yield path


def _may_be_video(path: PurePath) -> bool:
    return not path.name.startswith(".") and path.suffix.lower() not in SIDECARS
