"""The cache beside DVC: content-addressed, shared by runs and processes, safe to delete at any time.

DVC removes a stage's outputs before it runs; what was already computed comes back from here.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pipeline.cache.cache_claims import first_claim
from pipeline.core import DamageError, cache_folder, sweep
from pipeline.remote import bring, offer
from pipeline.store import ROW_COLUMNS, StoredFeatures, TensorFile, VideoFeatures, not_finite, spec_of, write_tensors

DAY = 24 * 3600.0


def graph_path(key: str) -> Path:
    """Of an exported graph; pipeline/cache/graph_cache.py makes them."""
    return cache_folder("graphs") / f"{key}.safetensors"


def entry_path(key: str) -> Path:
    return cache_folder("features") / key[:2] / f"{key}.safetensors"


def shard_path(key: str) -> Path:
    """Of a kept shard; its use is told by the note beside it, which pipeline/cache/shard_cache.py writes."""
    return cache_folder("shards") / key[:2] / f"{key}.safetensors"


def put_features(key: str, video: VideoFeatures, *, record: Mapping[str, Any] | None = None) -> None:
    """Publish an entry; `record` is what `key` is the hash of, kept for a person who looks inside."""
    parts = video.parts()
    specs = {name: spec_of(array) for name, array in parts.items()}
    about = {"record": json.dumps(record or {}, sort_keys=True)}
    write_tensors(entry_path(key), specs, parts.__getitem__, metadata=about, temporary_folder=unfinished())
    offer(entry_path(key))


def get_features(key: str) -> VideoFeatures | None:
    """The cached features, or None when they are absent, damaged or no numbers (then they are computed again)."""
    try:
        entry = _opened(key)
        entry.parts()  # a look at each of them is the check
    except DamageError:
        return None
    if not_finite(entry):  # kept by a version that did not look
        return None
    note_use(entry_path(key))
    return entry


def note_use(path: Path) -> bool:
    """The time of the last use, by which `gc` decides; False when there is nothing to use."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class CachedFeatures(Mapping[str, VideoFeatures]):
    """The entries of many videos, opened one by one; a DamageError tells of one that is gone or changed by now."""

    keys_of: Mapping[str, str]  # video -> key

    def __getitem__(self, video_id: str) -> VideoFeatures:
        return _opened(self.keys_of[video_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_of)

    def __len__(self) -> int:
        return len(self.keys_of)


@dataclass(frozen=True)
class CacheEntry:
    path: Path  # whose time is that of the last use
    bytes: int
    used: float  # seconds since 1970
    kind: Literal["features", "graphs", "shards"]
    shard: Path | None = None  # the file that a note at `path` is about


def entries() -> list[CacheEntry]:
    """A video's features, exported graphs and kept shards: every entry of the cache, the longest unused first."""
    paths = chain(cache_folder("features").glob("??/*.safetensors"), cache_folder("graphs").glob("*.safetensors"))
    shards = {path.with_suffix(".json") for path in cache_folder("shards").glob("??/*")}
    found = [entry for entry in (*map(_entry, paths), *map(_shard_entry, shards)) if entry]
    return sorted(found, key=lambda entry: (entry.used, entry.path))


def _entry(path: Path) -> CacheEntry | None:
    with suppress(FileNotFoundError):  # another process collects as well
        facts = path.stat()
        kind: Literal["features", "graphs"] = "graphs" if path.parent == cache_folder("graphs") else "features"
        return CacheEntry(path, _size(facts), facts.st_mtime, kind)
    return None


def _shard_entry(note: Path) -> CacheEntry | None:
    """A shard that is a store's as well takes no room of its own. One without a note is being written, or was."""
    shard = note.with_suffix(".safetensors")
    with suppress(FileNotFoundError):  # as above
        found = {path: path.stat() for path in (note, shard) if path.exists()}
        used = found[note].st_mtime if note in found else shard.stat().st_ctime
        size = sum(_size(facts) for facts in found.values() if facts.st_nlink == 1)
        return CacheEntry(note, size, used, "shards", shard)
    return None


def _size(facts: os.stat_result) -> int:
    return facts.st_blocks * 512 or facts.st_size


def collect(
    *, keep_days: float | None = None, max_bytes: int | None = None, pretend: bool = False
) -> tuple[list[CacheEntry], list[CacheEntry]]:
    """Remove entries unused for `keep_days`, then the longest unused until `max_bytes` fit: removed and kept.

    What a running stage has used or made stays: it would only be computed again, or never be there all at once.
    """
    everything = entries()
    claimed_since = first_claim()  # read after the entries: a stage that begins later uses them later, too
    free = [entry for entry in everything if entry.used < claimed_since]
    oldest = time.time() - keep_days * DAY if keep_days is not None else 0.0
    removed = [entry for entry in free if entry.used < oldest]
    total = sum(entry.bytes for entry in everything[len(removed) :])
    for entry in free[len(removed) :]:
        if max_bytes is not None and total > max_bytes:
            total -= entry.bytes
            removed.append(entry)
    if not pretend:
        removed = [entry for entry in removed if _removed(entry)]
        clear_unfinished()
    gone = {entry.path for entry in removed}
    return removed, [entry for entry in everything if entry.path not in gone]


def _removed(entry: CacheEntry) -> bool:
    """Unless a stage has begun to use it since it was listed."""
    with suppress(FileNotFoundError):
        if entry.path.stat().st_mtime != entry.used:
            return False
        entry.path.unlink()
    if entry.shard is not None:
        entry.shard.unlink(missing_ok=True)
    return True


def clear_unfinished() -> list[Path]:
    """Remove what killed processes left half-written."""
    return sweep(unfinished())


def unfinished() -> Path:
    """One folder for all entries that are being written, so that finding those of killed processes costs nothing."""
    return cache_folder("features") / "unfinished"


def _opened(key: str) -> StoredFeatures:
    bring(entry_path(key))
    file = TensorFile(entry_path(key))
    tables = {f"rows.{column}" for column in ROW_COLUMNS}
    return StoredFeatures(file, names=sorted(file.keys() - tables))
