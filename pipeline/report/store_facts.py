"""The feature stores as the page shows them: what each holds, and every video that failed, with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.cache import frames_per_second
from pipeline.core import DamageError
from pipeline.store import MANIFEST, failures_of, read_manifest, whose_weights


@dataclass(frozen=True, kw_only=True)
class StoreFacts:
    name: str
    videos: int = 0
    rows: int = 0
    megabytes: float = 0.0
    tensors: tuple[str, ...] = ()  # "pool 1280 float32"
    speed: float | None = None  # frames a second, when they were computed on this machine
    fingerprint: str = ""
    untrained: bool = False
    whose: str = ""  # when the weights are the user's own: that, and which file
    failures: tuple[tuple[str, str, str], ...] = ()  # video, reason code, detail
    problem: str = ""  # why nothing can be said


def read_stores(names: Sequence[str], *, folder: Path) -> list[StoreFacts]:
    """Of the extractors that have a store by now; a damaged one costs its facts, not the report."""
    return [_read(name, folder / name) for name in names if (folder / name / MANIFEST).is_file()]


def _read(name: str, store: Path) -> StoreFacts:
    try:
        manifest = read_manifest(store)
    except DamageError as error:
        return StoreFacts(name=name, problem=f"{error}; {error.hint}")
    sizes = manifest["sizes"]
    return StoreFacts(
        name=name,
        videos=sizes["videos"],
        rows=sizes["rows"],
        megabytes=sizes["bytes"] / 1e6,
        tensors=tuple(
            f"{tensor} {' × '.join(map(str, facts['shape']))} {facts['dtype']}"
            for tensor, facts in manifest["outputs"].items()
        ),
        speed=frames_per_second(manifest["fingerprint_sha256"]),
        fingerprint=manifest["fingerprint_sha256"],
        untrained=manifest["fingerprint"].get("weights") == "random",
        whose=whose_weights(manifest),
        failures=tuple((id_, each.reason, each.message) for id_, each in sorted(failures_of(manifest).items())),
    )
