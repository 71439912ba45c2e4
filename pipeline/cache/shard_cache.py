"""Shards of stores, kept by content: a store that grows by a video is written anew where that video lies, nowhere else.

DVC removes a stage's outputs before it runs; shards that did not change come back from here under a second name, which
costs no reading and no writing. Whether a kept shard was changed in place since (a store shares its bytes where they
are hard links) is told by size, time and inode, as git tells it; where these differ, by its sha256.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.cache.feature_cache import note_use, shard_path
from pipeline.core import (
    DamageError,
    FramescribeError,
    cache_folder,
    file_sha256,
    link_file,
    read_sealed_json,
    record_sha256,
    write_sealed_json,
)
from pipeline.store import SCHEMA, Output, Shard, Written, shard_key

SETTLED = 10 * 10**9  # nanoseconds: kept shards are dated so long ago that any later change has another time
ATTEMPTS = 3  # at a shard that is removed before it is linked


def note_path(shard: Path) -> Path:
    return shard.with_suffix(".json")


@dataclass(frozen=True)
class CachedShards:
    """Where the shards of a store come from."""

    contents: Mapping[str, str]  # video -> all that decides its features and its rows
    _keys: dict[bytes, str] = field(default_factory=dict, init=False)  # ids, hashed -> key of their shard

    def find(self, ids: Sequence[str]) -> Shard | None:
        """The kept shard of these videos, if it is whole."""
        return _found(self._key(ids))

    def place(self, path: Path, ids: Sequence[str], write: Callable[[Path], Shard]) -> Shard:
        """The shard at `path`: the kept one, or what `write` makes, which is kept."""
        key = self._key(ids)
        for _ in range(ATTEMPTS):
            shard = _found(key) or _kept(key, write)
            with suppress(FileNotFoundError):  # someone has emptied the cache meanwhile
                link_file(shard_path(key), path)
                return shard
        raise DamageError(f"{shard_path(key)} is gone, {ATTEMPTS} times in a row", hint="run the same command again")

    def _key(self, ids: Sequence[str]) -> str:
        """Looked up, then placed: contents may take long to tell."""
        names = [shard_key(video_id, "") for video_id in ids]
        digest = hashlib.sha256("\n".join(names).encode()).digest()
        if digest not in self._keys:
            videos = {name: self.contents[video_id] for name, video_id in zip(names, ids, strict=True)}
            self._keys[digest] = record_sha256({"schema": SCHEMA, "videos": videos})
        return self._keys[digest]


def forget_shards(sha256s: Iterable[str]) -> None:
    """Of files with these hashes: one that is damaged in a store may be the same file."""
    bad = set(sha256s)
    for note in cache_folder("shards").glob("??/*.json"):
        with suppress(FramescribeError, KeyError):
            if read_sealed_json(note, hint="")["written"]["sha256"] in bad:
                _forget(note.with_suffix(".safetensors"))


def _forget(shard: Path) -> None:
    for path in (note_path(shard), shard):
        path.unlink(missing_ok=True)


def _kept(key: str, write: Callable[[Path], Shard]) -> Shard:
    path = shard_path(key)
    note_path(path).unlink(missing_ok=True)
    shard = write(path)
    then = path.stat().st_mtime_ns - SETTLED
    os.utime(path, ns=(then, then))
    _write_note(path, shard)
    return shard


def _write_note(path: Path, shard: Shard) -> None:
    write_sealed_json(note_path(path), {**asdict(shard), "file": _signature(path)})


def _signature(path: Path) -> list[int]:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def _found(key: str) -> Shard | None:
    path = shard_path(key)
    try:
        note = read_sealed_json(note_path(path), hint="")
        is_same = _signature(path) == note["file"]
        shard = _shard_of(note)
        if not is_same and file_sha256(path) != shard.written.sha256:
            _forget(path)
            return None
    except (FramescribeError, FileNotFoundError, KeyError, TypeError):  # not there, damaged, or of another version
        return None
    if not is_same:
        _write_note(path, shard)
    note_use(note_path(path))
    return shard


def _shard_of(note: Mapping[str, Any]) -> Shard:
    outputs = {name: Output(tuple(each["shape"]), each["dtype"]) for name, each in note["outputs"].items()}
    return Shard(Written(**note["written"]), outputs, note["rows"])
