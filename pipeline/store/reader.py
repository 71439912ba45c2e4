"""Reading a store: random access by video id, through mmap, without copying and never a damaged array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from pipeline.core import DamageError, InputError, printable
from pipeline.remote import is_url
from pipeline.store.features import StoredFeatures, VideoFeatures
from pipeline.store.manifest import Failure, read_manifest, shard_key, shard_name, shard_of
from pipeline.store.push_pull import mirror
from pipeline.store.tensor_file import TensorFile

OPEN_SHARDS = 256  # kept open at once: each holds a file descriptor


@dataclass(frozen=True, eq=False)
class Store(Mapping[str, VideoFeatures]):
    """Random access by video id: `store[video_id]["pool"]` is a numpy array, `.rows` says what its rows are."""

    folder: Path
    manifest: dict[str, Any] = field(repr=False)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.manifest["fingerprint"]

    @property
    def untrained(self) -> bool:
        return self.fingerprint.get("weights") == "random"

    def state(self, video_id: str) -> Literal["present", "failed", "absent"]:
        if video_id in self.manifest["videos"]:
            return "present"
        return "failed" if video_id in self.manifest["failures"] else "absent"

    def failure(self, video_id: str) -> Failure:
        return Failure(**self.manifest["failures"][video_id])

    def __getitem__(self, video_id: str) -> VideoFeatures:
        if video_id not in self.manifest["videos"]:
            why = f": it failed ({self.failure(video_id)})" if self.state(video_id) == "failed" else ""
            raise InputError(f"{self.folder} has no video '{printable(video_id)}'{printable(why)}")
        shard = self._shard(shard_of(video_id, self.manifest["shard_count"]))
        return StoredFeatures(shard, names=list(self.manifest["outputs"]), prefix=shard_key(video_id, ""))

    def __contains__(self, video_id: object) -> bool:
        return video_id in self.manifest["videos"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.manifest["videos"])

    def __len__(self) -> int:
        return len(self.manifest["videos"])

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (self.folder,)  # another process opens the files itself

    @cached_property
    def _shard(self) -> Any:
        return lru_cache(OPEN_SHARDS)(self._open_shard)

    def _open_shard(self, number: int) -> TensorFile:
        name = shard_name(number)
        shard = TensorFile(self.folder / name)
        if shard.checksum != self.manifest["shards"].get(name, {}).get("header"):
            raise DamageError(
                f"{shard.path} is whole, but not the shard that {self.folder}/store.json describes",
                hint=f"framescribe store verify {self.folder}",
            )
        return shard


def open_store(place: Path | str) -> Store:
    """The store in a folder, or at a URL: then as it is now, copied into the cache and checked."""
    folder = local_folder(place)
    return Store(folder, read_manifest(folder))


def local_folder(place: Path | str) -> Path:
    return mirror(place) if isinstance(place, str) and is_url(place) else Path(place)
