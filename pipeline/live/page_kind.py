"""What a page is: its place in the navigation, its routes, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute

from pipeline.core import printable
from pipeline.live.asked import address, size
from pipeline.live.live_project import LiveProject
from pipeline.live.marked_words import marked


@dataclass(frozen=True)
class Page:
    path: str  # where its link in the navigation leads
    title: str
    routes: Sequence[BaseRoute]


def project_of(request: Request) -> LiveProject:
    return request.app.state.project


def drawn(request: Request, template: str, *, status: int = 200, **facts: Any) -> Response:
    """A template of this room, which extends `shell.html`."""
    shared = {"pages": getattr(request.app.state, "pages", ()), "here": request.url.path}
    return HTMLResponse(templates().get_template(template).render(shared | facts), status_code=status)


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipeline.live", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = printable  # of names that others gave: a page must always be writable
    environment.filters["size"] = size
    environment.filters["marked"] = marked
    environment.globals["address"] = address
    return environment
