"""What examining a content once found out, kept by its sha256: a renamed, touched or returning file costs a hash."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
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
from pipeline.decoding.backends import versions
from pipeline.decoding.hash_memory import Mark, as_mark
from pipeline.decoding.held_video import HeldVideo, held
from pipeline.decoding.limits import Limits
from pipeline.decoding.read_video import inspect_video
from pipeline.remote import bring, offer, remember_sha256, remembered_sha256

_one_at_a_time: defaultdict[str, Lock] = defaultdict(Lock)
EXAMINATION = 2  # raise when an examination of the same bytes would find something else


@dataclass(frozen=True)
class Examination:
    """What is known of a content; a failure that the content alone explains is known too."""

    sha256: str
    facts: dict[str, Any]
    known: bool = True  # before: nothing was decoded
    mark: Mark = ()  # of the file that was opened and hashed; of what was only looked up, nothing

    def require_usable(self, path: str) -> None:
        if "reason" in self.facts:
            message = self.facts["message"].replace("'{path}'", f"'{path}'")
            raise DecodeError(self.facts["reason"], message, hint=self.facts["hint"])


def examined(path: str, *, limits: Limits, backend: str = "decord") -> tuple[str, dict[str, Any], bool]:
    """sha256, facts, and whether they were already known, of a file or URL that can be used."""
    found = examination(path, limits=limits, backend=backend)
    found.require_usable(path)
    return found.sha256, found.facts, found.known


def examination(path: str, *, limits: Limits, backend: str) -> Examination:
    sha256 = remembered_sha256(path)
    known = None if sha256 is None else known_of(sha256, limits=limits, backend=backend)
    return known or _examined_here(path, limits=limits, backend=backend)


def known_of(sha256: str, *, limits: Limits, backend: str) -> Examination | None:
    facts = _read(_entry(sha256, limits, backend))
    return None if facts is None else Examination(sha256, facts)


def _examined_here(path: str, *, limits: Limits, backend: str) -> Examination:
    with held(path, limits=limits) as video:
        remember_sha256(path, video.sha256)
        entry = _entry(video.sha256, limits, backend)
        with _one_at_a_time[str(entry)]:  # copies of one video under several names are examined once
            known = _read(entry)
            facts = known or _examined_now(path, video, limits=limits, backend=backend, entry=entry)
            return Examination(video.sha256, facts, known is not None, as_mark(video.before))


def _examined_now(path: str, video: HeldVideo, *, limits: Limits, backend: str, entry: Path) -> dict[str, Any]:
    try:
        with video.reading():
            facts = inspect_video(path, limits=limits, file=video.file, backend=backend)
    except DecodeError as error:
        if error.reason in TRANSIENT:
            raise
        message = error.message.replace(f"'{path}'", "'{path}'")  # the content may come back under another name
        facts = {"reason": error.reason, "message": message, "hint": error.hint}
    if "fault" not in facts:
        write_sealed_json(entry, facts, indent=None)
        offer(entry)
    return facts


def _entry(sha256: str, limits: Limits, backend: str) -> Path:
    return cache_folder("decode") / sha256[:2] / f"{sha256}-{_fingerprint(limits, backend)}.json"


@cache
def _fingerprint(limits: Limits, backend: str) -> str:
    """Of everything but the bytes that decides what an examination finds."""
    return record_sha256({"examination": EXAMINATION, "max_pixels": limits.max_pixels, **versions(backend)})[:12]


def _read(entry: Path) -> dict[str, Any] | None:
    bring(entry)
    try:
        return read_sealed_json(entry, hint="")
    except FramescribeError:  # not there, or damaged: examine again
        return None
