"""Where the page finds the video itself: on this disk, in a container that browsers play; nothing is copied."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from pipeline.index import VideoIndex

PLAYED = frozenset({".mp4", ".m4v", ".webm"})  # whether it plays what is in them, each browser says itself


def player_address(video: str, *, index: VideoIndex, beside: Path) -> str:
    """Relative to the page in the folder `beside`; none for other containers, and for what is not a file here."""
    row = index.rows.get(video)
    if row is None or Path(row.path).suffix.lower() not in PLAYED or not Path(row.path).is_file():
        return ""
    try:
        return quote(os.path.relpath(row.path, beside).replace(os.sep, "/"))
    except ValueError:  # on another drive
        return ""
