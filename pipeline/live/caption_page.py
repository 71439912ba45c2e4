"""Caption: drop a clip in, or choose one of the project's, and read what the runs say of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.live.page_kind import Page, drawn


def show(request: Request) -> Response:
    return drawn(request, "caption.html")


CAPTION = Page("/caption", "Caption", [Route("/caption", show)])
