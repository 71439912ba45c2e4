"""What became of one video: what workers hand back."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.store import Failure


@dataclass(frozen=True)
class VideoResult:
    """Names and keys only, the features themselves are in the cache."""

    video_id: str
    keys: dict[str, str]  # task -> key of the entry
    failures: dict[str, Failure] = field(default_factory=dict)  # task -> reason
    computed: tuple[str, ...] = ()  # tasks
    decoded: int = 0  # passes over the video's frames
