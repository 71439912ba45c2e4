"""The video index as the page shows it: totals and quarantine."""

from __future__ import annotations

from collections import Counter
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
    """With one row in memory at a time."""
    frames, seconds, warnings = 0, 0.0, list[tuple[str, str]]()
    sizes, backends, sound = Counter[str](), Counter[str](), Counter[str]()
    for row in index.rows.values():
        frames, seconds = frames + row.frames, seconds + row.duration
        sizes[f"{row.width} × {row.height}"] += 1
        backends[row.backend] += 1
        sound[row.audio] += 1
        warnings += [(row.id, warning) for warning in row.warnings]
    return IndexSummary(
        videos=len(index.rows),
        frames=frames,
        minutes=seconds / 60,
        sizes=_ordered(sizes),
        backends=_ordered(backends),
        sound=_ordered(sound),
        warnings=sorted(warnings, key=lambda each: each[0]),
        quarantined=[(row.id, row.reason, row.message) for _, row in sorted(index.quarantined.items())],
    )


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
