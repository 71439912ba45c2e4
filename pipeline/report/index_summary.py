"""The video index as the page shows it: totals and quarantine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.index import VideoIndex


@dataclass(frozen=True, kw_only=True)
class IndexSummary:
    videos: int
    frames: int
    minutes: float
    sizes: list[tuple[str, int]]
    backends: list[tuple[str, int]]
    sound: list[tuple[str, int]]
    warnings: list[tuple[str, str]]  # video, text
    quarantined: list[tuple[str, str, str]]  # video, reason code, detail


def summarise(index: VideoIndex) -> IndexSummary:
    rows = [index.rows[video] for video in sorted(index.rows)]
    return IndexSummary(
        videos=len(rows),
        frames=sum(row.frames for row in rows),
        minutes=sum(row.duration for row in rows) / 60,
        sizes=_counts(f"{row.width} × {row.height}" for row in rows),
        backends=_counts(row.backend for row in rows),
        sound=_counts(str(row.audio) for row in rows),
        warnings=[(row.id, warning) for row in rows for warning in row.warnings],
        quarantined=[(row.id, row.reason, row.message) for _, row in sorted(index.quarantined.items())],
    )


def _counts(values: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
