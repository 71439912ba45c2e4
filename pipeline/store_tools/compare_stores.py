"""What differs between two stores: the fingerprint field by field, and the videos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.store import Store, TensorFile, differences, expected_keys, shard_name, shard_of


@dataclass(frozen=True)
class StoreDifference:
    fields: list[tuple[str, Any, Any]]  # of the fingerprint
    only_left: list[str]  # videos
    only_right: list[str]
    changed: list[str]  # videos that both have, with other bytes

    @property
    def is_empty(self) -> bool:
        return not (self.fields or self.only_left or self.only_right or self.changed)


def compare(left: Store, right: Store) -> StoreDifference:
    """Features are compared by the check values in the shards' headers, so no feature is read."""
    checks = _checks(left), _checks(right)
    return StoreDifference(
        differences(left.fingerprint, right.fingerprint),
        sorted(left.keys() - right.keys()),
        sorted(right.keys() - left.keys()),
        sorted(video_id for video_id in left.keys() & right.keys() if checks[0][video_id] != checks[1][video_id]),
    )


def _checks(store: Store) -> dict[str, list[tuple[str, Any]]]:
    files = {name: TensorFile(store.folder / name) for name in store.manifest["shards"]}
    return {video_id: _checks_of(files, store, video_id) for video_id in store}


def _checks_of(files: dict[str, TensorFile], store: Store, video_id: str) -> list[tuple[str, Any]]:
    shard = files[shard_name(shard_of(video_id, store.manifest["shard_count"]))]
    return [(key, shard.spec(key)) for key in expected_keys(video_id, list(store.manifest["outputs"]))]
