"""Videos, indexes, features and stores for the tests of this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import extractors
from pipeline.core.console import Console
from pipeline.core.executors import Executor, InProcess, LocalProcesses
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.params.decode import Decode
from pipeline.params.extract import Extract
from pipeline.store import Rows, VideoFeatures
from tests.clips import write_clip

QUIET = Console(quiet=True)
FAMILIES = str(Path(__file__).parent / "families")
TOY: dict[str, Any] = {
    "family": "toy",
    "network": "toy",
    "weights": "random",
    "sampling": {"count": 3},
    "outputs": ["colour", "corner"],
}


def add_toy_family() -> None:
    """Make `family: toy` known to this process."""
    if FAMILIES not in extractors.__path__:
        extractors.__path__.append(FAMILIES)


@dataclass(frozen=True)
class KnowingToy:
    """Work for another process, which has to be told about the family first."""

    work: Callable[[Any], Any]

    def __call__(self, item: Any) -> Any:
        add_toy_family()
        return self.work(item)


@dataclass(frozen=True)
class ToyProcesses(LocalProcesses):
    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        return super().map(KnowingToy(work), items)


def toy(**changes: Any) -> Extract:
    return Extract.model_validate(TOY | changes)


def features(seed: int, rows: int = 3, *, columns: int = 4) -> VideoFeatures:
    numbers = np.random.default_rng(seed)
    frames = np.arange(rows, dtype=np.int64)
    return VideoFeatures(
        tensors={
            "pool": numbers.normal(size=(rows, columns)).astype(np.float32),
            "grid": numbers.normal(size=(rows, 2, 2, 4)).astype(np.float16),
        },
        rows=Rows(
            first_frame=frames, last_frame=frames, start=frames / 25, end=(frames + 1) / 25, valid=np.ones_like(frames)
        ),
    )


def content(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def write_clips(folder: Path, count: int, *, first: int = 0) -> None:
    """Small clips of different content."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        write_clip(folder / f"clip{number:03d}.mp4", frames=6 + number % 3, width=48, height=32, fps=10 + number)


def index_of(videos: Path, out: Path) -> Path:
    decode.decode_videos(videos=videos, out=out, params=Decode(max_failed=99), workers=2, console=QUIET)
    return out


def extracted(
    index: Path, out: Path, *, params: Extract | None = None, executor: Executor | None = None
) -> dict[str, Any]:
    return extract.extract_features(
        {"toy": params or toy()},
        index=index,
        outs={"toy": out},
        executor=executor or InProcess(),
        device="cpu",
        console=QUIET,
    )
