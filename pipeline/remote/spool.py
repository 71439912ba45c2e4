"""Videos at a URL, brought to this machine one at a time: a bounded folder of copies, each checked by its user."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from pipeline.core import (
    DecodeError,
    FramescribeError,
    UsageError,
    atomic,
    cache_folder,
    read_sealed_json,
    record_sha256,
    write_sealed_json,
)
from pipeline.remote.transfer import AbsentError, Facts, ForbiddenError, facts_of, fetch, is_url

LIMIT = "FRAMESCRIBE_SPOOL_GB"
DEFAULT_LIMIT = 20.0


@contextmanager
def at_hand(path: str) -> Iterator[str]:
    """A file of this machine with the bytes of `path`: itself, or of a URL a copy that stays for this block."""
    if not is_url(path):
        yield path
        return
    with _borrowed(path, _looked_up(path)) as local:
        try:
            yield local
        except DecodeError as error:  # the reader knows the URL, not the copy
            message = error.message.replace(f"'{local}'", f"'{path}'")
            raise DecodeError(error.reason, message, hint=error.hint) from error


def remembered_sha256(path: str) -> str | None:
    """Of a URL whose content was hashed before and has the same mark still: nothing has to be fetched."""
    if not is_url(path) or not (facts := _looked_up(path)).version:
        return None
    try:
        return read_sealed_json(_memory(path, facts), hint="")["sha256"]
    except FramescribeError:  # never hashed, or damaged: it is hashed again
        return None


def remember_sha256(path: str, sha256: str) -> None:
    if is_url(path) and (facts := _looked_up(path)).version:
        write_sealed_json(_memory(path, facts), {"url": path, "version": facts.version, "sha256": sha256})


def spool_folder() -> Path:
    return cache_folder("spool")


def _looked_up(path: str) -> Facts:
    """One file that is missing or refused costs itself; a store that cannot be reached ends the run."""
    try:
        return facts_of(path)
    except AbsentError as error:
        raise DecodeError("missing", f"'{path}': no such object") from error
    except ForbiddenError as error:
        raise DecodeError("unreadable", f"'{path}': {error.message}") from error


@contextmanager
def _borrowed(path: str, facts: Facts) -> Iterator[str]:
    """A name of its own for the copy: making room for others takes only the common name away."""
    copy = spool_folder() / _key(path, facts)
    own = spool_folder() / "in-use" / atomic.own_name(uuid4().hex)
    own.parent.mkdir(parents=True, exist_ok=True)
    atomic.sweep(own.parent)
    try:
        _link(path, facts, copy, own)
        yield str(own)
    finally:
        own.unlink(missing_ok=True)
        if not facts.version:  # nothing would tell an old copy from a new one
            copy.unlink(missing_ok=True)


def _link(path: str, facts: Facts, copy: Path, own: Path) -> None:
    for _ in range(3):  # another process may make room between the two steps
        if not facts.version or not copy.is_file():
            _fetch(path, facts, copy)
        with suppress(FileNotFoundError):
            # the last use, by which room is made; the time of change stays, by which a reader sees that nothing did
            os.utime(copy, ns=(time.time_ns(), copy.stat().st_mtime_ns))
            own.hardlink_to(copy)
            return
    raise DecodeError("unreadable", f"'{path}': its copy vanished; raise {LIMIT}")


def _fetch(path: str, facts: Facts, copy: Path) -> None:
    _make_room(facts.size)
    try:
        fetch(path, copy)
    except AbsentError as error:
        raise DecodeError("missing", f"'{path}': it was there a moment ago") from error
    # the mark must belong to these bytes: an object may be replaced at any time
    if copy.stat().st_size != facts.size or facts_of(path, refresh=True) != facts:
        copy.unlink(missing_ok=True)
        raise DecodeError("unreadable", f"'{path}' changed while it was fetched")


def _make_room(size: int) -> None:
    kept = []
    atomic.sweep(spool_folder())
    for copy in spool_folder().glob("[!.]*"):  # what begins with a dot is still being fetched by somebody
        with suppress(FileNotFoundError):
            kept.append((copy.stat().st_atime, copy.stat().st_size, copy))
    kept = sorted(each for each in kept if each[2].is_file())
    total = sum(bytes_ for _, bytes_, _ in kept)
    while kept and total + size > _limit():
        _, bytes_, oldest = kept.pop(0)
        oldest.unlink(missing_ok=True)
        total -= bytes_


def _limit() -> float:
    text = os.environ.get(LIMIT, str(DEFAULT_LIMIT))
    try:
        return float(text) * 1e9
    except ValueError as error:
        raise UsageError(f"{LIMIT} is '{text}'; it must be a number of gigabytes, such as 20") from error


def _key(path: str, facts: Facts) -> str:
    return record_sha256([path, facts.version, facts.size])


def _memory(path: str, facts: Facts) -> Path:
    key = _key(path, facts)
    return spool_folder().with_name("urls") / key[:2] / f"{key}.json"
