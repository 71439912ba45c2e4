"""The videos of the project's index, played by their ids where a list shows them."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.live.asked import address, asked
from pipeline.live.captionable import project_videos
from pipeline.live.played_file import UNKNOWN, kind_of, played

PLAYER = "/browse/player"


def player_of(video: str) -> str:
    """Where it plays; nowhere if it is not there, or of a kind that no browser knows."""
    path = Path(project_videos().get(video, ""))
    return address(PLAYER, video=video) if path.is_file() and kind_of(path) != UNKNOWN else ""


def send_video(request: Request) -> Response:
    path = project_videos().get(asked(request).get("video", ""))
    if path is None:
        raise HTTPException(404, "the index has no such video")
    return played(Path(path))


PLAYED = Route(PLAYER, send_video)
