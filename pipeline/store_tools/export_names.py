"""How exports call a video, and what files they all have."""

from __future__ import annotations

from urllib.parse import quote

ABOUT = "about.json"
CARD = "README.md"


def file_stem(video_id: str) -> str:
    """The id as a file name: percent-encoded, and without a dot, which WebDataset takes for the end of the name."""
    return quote(video_id, safe=" ", errors="surrogateescape").replace(".", "%2E")
