"""Writing a store: shard after shard, tensor after tensor, so that memory holds one video however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import Derived, InputError, fresh_folder, named, printable
from pipeline.store.features import VideoFeatures
from pipeline.store.manifest import (
    MANIFEST,
    Failure,
    Output,
    make_manifest,
    shard_count,
    shard_key,
    shard_name,
    shard_of,
    write_manifest,
)
from pipeline.store.tensor_file import Spec, Written, spec_of, write_tensors


@dataclass(frozen=True)
class Shard:
    """A shard's file, and what the manifest says about its videos."""

    written: Written
    outputs: Mapping[str, Output]
    rows: Mapping[str, int]  # video -> rows


# (path, videos, write) -> the shard of these videos at that path, by `write` or from where it lies already
PlaceShard = Callable[[Path, Sequence[str], Callable[[Path], Shard]], Shard]


def write_anew(path: Path, _: Sequence[str], write: Callable[[Path], Shard]) -> Shard:
    return write(path)


def write_store(
    folder: Path,
    features: Mapping[str, VideoFeatures],
    *,
    fingerprint: Mapping[str, Any],
    failures: Mapping[str, Failure] | None = None,
    origins: Mapping[str, Mapping[str, Any]] | None = None,
    own_weights: Mapping[str, str] | None = None,
    place_shard: PlaceShard = write_anew,
    last_check: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Publish a whole store at once; until it is complete, `folder` stays as it was.

    `features` may fetch a video anew each time it is asked; `origins` are facts about videos that go into `videos`.
    `own_weights` are the user's own files by name, each with its sha256: told, and no part of what features depend on.
    `place_shard` may know a shard already. `last_check` may raise, when all is written and nothing is published.
    """
    failures = failures or {}
    count = shard_count(len(features) + len(failures))
    scribe = _Scribe(features)
    with fresh_folder(folder, known_by=MANIFEST) as temporary:
        shards = {
            shard_name(number): scribe.place(temporary / shard_name(number), ids, place_shard)
            for number, ids in members_of(features, count).items()
        }
        manifest = make_manifest(
            fingerprint=fingerprint,
            outputs=scribe.outputs,
            shards=shards,
            shard_count=count,
            videos=Derived(scribe.rows, lambda id_: {"rows": scribe.rows[id_], **(origins or {}).get(id_, {})}),
            rows=sum(scribe.rows.values()),
            failures=failures,
            own_weights=own_weights or {},
        )
        write_manifest(temporary, manifest)
        last_check()
    return manifest


def members_of(videos: Iterable[str], shards: int) -> dict[int, list[str]]:
    """The videos of each shard that has some, both in order."""
    members: dict[int, list[str]] = defaultdict(list)
    for video_id in sorted(videos):
        members[shard_of(video_id, shards)].append(video_id)
    return dict(sorted(members.items()))


class _Scribe:
    """Sees to it that shards are made, and remembers what the manifest says about their videos."""

    def __init__(self, features: Mapping[str, VideoFeatures]) -> None:
        self.features = features
        self.outputs: Mapping[str, Output] = {}
        self.rows: dict[str, int] = {}

    def place(self, path: Path, ids: list[str], place_shard: PlaceShard) -> Written:
        shard = place_shard(path, ids, lambda target: self._write(target, ids))
        self.outputs = self.outputs or shard.outputs
        self.rows |= shard.rows
        return shard.written

    def _write(self, path: Path, ids: list[str]) -> Shard:
        specs: dict[str, Spec] = {}
        places: dict[str, tuple[str, str]] = {}  # key -> video, part
        rows: dict[str, int] = {}
        for video_id in ids:
            video = self.features[video_id]
            self._require_alike(video_id, video)
            rows[video_id] = len(video.rows)
            for name, array in video.parts().items():
                specs[shard_key(video_id, name)] = spec_of(array)
                places[shard_key(video_id, name)] = (video_id, name)
        current = _Current(self.features)
        written = write_tensors(path, specs, lambda key: current.part(*places[key]))
        return Shard(written, self.outputs, rows)

    def _require_alike(self, video_id: str, video: VideoFeatures) -> None:
        outputs = {name: Output(array.shape[1:], array.dtype.name) for name, array in sorted(video.items())}
        self.outputs = self.outputs or outputs
        require_alike(video_id, video, outputs, expected=self.outputs)


class _Current:
    """The video that is being copied: its parts lie side by side in a shard, so each is opened once or twice."""

    def __init__(self, features: Mapping[str, VideoFeatures]) -> None:
        self.features = features
        self.video_id: str | None = None
        self.parts: dict[str, np.ndarray] = {}

    def part(self, video_id: str, name: str) -> np.ndarray:
        if video_id != self.video_id:
            self.video_id, self.parts = video_id, self.features[video_id].parts()
        return self.parts[name]


def require_alike(
    video_id: str, video: VideoFeatures, outputs: Mapping[str, Output], *, expected: Mapping[str, Output]
) -> None:
    """All videos of a store have the same tensors, and all tensors of a video the same rows."""
    shown_id = printable(video_id)
    if dict(outputs) != dict(expected):
        raise InputError(f"'{shown_id}' has {_shown(outputs)}; the videos before it have {_shown(expected)}")
    wrong = [name for name, array in video.items() if len(array) != len(video.rows)]
    if wrong:
        raise InputError(f"'{shown_id}': {named(wrong)} has not {len(video.rows)} rows, as the row table says")
    bad = [name for name in outputs if "/" in name or name.startswith("rows.")]
    if bad:
        raise InputError(f"'{printable(bad[0])}' cannot name a tensor: no slash, and not rows.*")


def _shown(outputs: Mapping[str, Output]) -> str:
    return (
        ", ".join(f"{printable(name)} {list(out.shape)} {out.dtype}" for name, out in outputs.items()) or "no tensors"
    )
