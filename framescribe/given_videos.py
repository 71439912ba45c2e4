"""What a caller gives as a video."""

from __future__ import annotations

from pathlib import Path

from pipeline.core import UsageError


def require_path(video: object, *, or_else: str = "") -> None:
    """Anything else, such as a tensor, would become a name of a file."""
    if not isinstance(video, str | Path):
        raise UsageError(f"the video is a {type(video).__name__}; give the path of a file{or_else}")
