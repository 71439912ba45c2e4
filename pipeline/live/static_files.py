"""Scripts and styles: those of this room and those shared with the report, by name alone. No path is ever joined."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

KINDS = {".css": "text/css", ".js": "text/javascript"}
SHARED = ("style.css", "views.js")  # the report's


@cache
def static_files() -> dict[str, Traversable]:
    own = {each.name: each for each in files("pipeline.live").iterdir() if _ending(each.name) in KINDS}
    return own | {name: files("pipeline.report") / name for name in SHARED}


def _ending(name: str) -> str:
    return f".{name.rpartition('.')[2]}"


def send_static(request: Request) -> Response:
    name = request.path_params["name"]
    file = static_files().get(name)
    if file is None:
        return PlainTextResponse("there is no such file", status_code=404)
    return Response(file.read_bytes(), media_type=KINDS[_ending(name)])


STATIC = Route("/static/{name}", send_static)
