"""The folder of raw videos: a file's stem is the video's id."""

from __future__ import annotations

from pathlib import Path

from pipeline.datasets.annotations import duplicates, named
from pipeline.errors import InputError

SUFFIXES = frozenset({".avi", ".flv", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".ts", ".webm", ".wmv"})


def video_files(folder: Path) -> dict[str, Path]:
    """Video files below `folder` by id, sorted; hidden files and files of other kinds are not videos."""
    if not folder.is_dir():
        raise InputError(f"dataset.videos: {folder} is not a folder", hint="give the folder of raw videos")
    files = [path for path in folder.rglob("[!.]*") if path.suffix.lower() in SUFFIXES and path.is_file()]
    if not files:
        raise InputError(f"dataset.videos: {folder} holds no video file ({', '.join(sorted(SUFFIXES))})")
    twice = duplicates(path.stem for path in files)
    if twice:
        raise InputError(
            f"dataset.videos: {folder} holds several files of one id ({len(twice)}): {named(sorted(twice))}"
        )
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}
