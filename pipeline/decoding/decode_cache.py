"""What examining a content once found out, kept by its sha256: a renamed, touched or returning file costs a hash."""

from __future__ import annotations

from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

from pipeline.core import (
    TRANSIENT,
    DecodeError,
    FramescribeError,
    cache_folder,
    read_sealed_json,
    record_sha256,
    write_sealed_json,
)
from pipeline.decoding.held_video import HeldVideo, held
from pipeline.decoding.limits import Limits
from pipeline.decoding.read_video import inspect_video
from pipeline.remote import bring, offer, remember_sha256, remembered_sha256

_one_at_a_time: defaultdict[str, Lock] = defaultdict(Lock)
EXAMINATION = 2  # raise when an examination of the same bytes would find something else


def examined(path: str, *, limits: Limits) -> tuple[str, dict[str, Any], bool]:
    """sha256, facts, and whether they were already known. Failures that the content alone explains are kept too."""
    sha256 = remembered_sha256(path)
    known = facts = _read(_entry(sha256, limits)) if sha256 is not None else None
    if sha256 is None or facts is None:
        sha256, facts, known = _examined_here(path, limits=limits)
    if "reason" in facts:
        raise DecodeError(facts["reason"], _with_path(facts["message"], path), hint=facts["hint"])
    return sha256, facts, known is not None


def _examined_here(path: str, *, limits: Limits) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    with held(path, limits=limits) as video:
        remember_sha256(path, video.sha256)
        entry = _entry(video.sha256, limits)
        with _one_at_a_time[str(entry)]:  # copies of one video under several names are examined once
            known = _read(entry)
            return video.sha256, known or _examined_now(path, video, limits=limits, entry=entry), known


def _examined_now(path: str, video: HeldVideo, *, limits: Limits, entry: Path) -> dict[str, Any]:
    try:
        with video.reading():
            facts = inspect_video(path, limits=limits, file=video.file)
    except DecodeError as error:
        if error.reason in TRANSIENT:
            raise
        message = error.message.replace(f"'{path}'", "'{path}'")  # the content may come back under another name
        facts = {"reason": error.reason, "message": message, "hint": error.hint}
    if "fault" not in facts:
        write_sealed_json(entry, facts, indent=None)
        offer(entry)
    return facts


def _entry(sha256: str, limits: Limits) -> Path:
    return cache_folder("decode") / sha256[:2] / f"{sha256}-{_fingerprint(limits)}.json"


def _with_path(message: str, path: str) -> str:
    return message.replace("'{path}'", f"'{path}'")


def _fingerprint(limits: Limits) -> str:
    """Of everything but the bytes that decides what an examination finds."""
    libraries = {name: version(name) for name in ("av", "decord")}
    return record_sha256({"examination": EXAMINATION, "max_pixels": limits.max_pixels, **libraries})[:12]


def _read(entry: Path) -> dict[str, Any] | None:
    bring(entry)
    try:
        return read_sealed_json(entry, hint="")
    except FramescribeError:  # not there, or damaged: examine again
        return None
