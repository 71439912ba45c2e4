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
    file_sha256,
    read_sealed_json,
    record_sha256,
    write_sealed_json,
)
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import opened
from pipeline.decoding.read_video import inspect_video
from pipeline.remote import at_hand, bring, offer, remember_sha256, remembered_sha256

_one_at_a_time: defaultdict[str, Lock] = defaultdict(Lock)
EXAMINATION = 1  # raise when an examination of the same bytes would find something else


def examined(path: str, *, limits: Limits) -> tuple[str, dict[str, Any], bool]:
    """sha256, facts, and whether they were already known. Failures that the content alone explains are kept too."""
    sha256 = _sha256(path)
    entry = cache_folder("decode") / sha256[:2] / f"{sha256}-{_fingerprint(limits)}.json"
    with _one_at_a_time[str(entry)]:  # copies of one video under several names are examined once
        known = _read(entry)
        facts = known or _examined_now(path, limits=limits, entry=entry)
    if "reason" in facts:
        raise DecodeError(facts["reason"], _with_path(facts["message"], path), hint=facts["hint"])
    return sha256, facts, known is not None


def _examined_now(path: str, *, limits: Limits, entry: Path) -> dict[str, Any]:
    try:
        facts = inspect_video(path, limits=limits)
    except DecodeError as error:
        if error.reason in TRANSIENT:
            raise
        message = error.message.replace(f"'{path}'", "'{path}'")  # the content may come back under another name
        facts = {"reason": error.reason, "message": message, "hint": error.hint}
    if "fault" not in facts:
        write_sealed_json(entry, facts, indent=None)
        offer(entry)
    return facts


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


def _sha256(path: str) -> str:
    if (remembered := remembered_sha256(path)) is not None:
        return remembered
    try:
        with at_hand(path) as local, opened(local) as name:
            sha256 = file_sha256(Path(name))
    except OSError as error:
        raise DecodeError("unreadable", f"'{path}': {error.strerror}") from error
    remember_sha256(path, sha256)
    return sha256
