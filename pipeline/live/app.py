"""The application: the gate, the pages, the scripts, and errors as people read them."""

from __future__ import annotations

from errno import ENOSPC

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pipeline.core import FramescribeError, UsageError, printable_lines
from pipeline.live.access import Gate, Keys
from pipeline.live.live_project import LiveProject
from pipeline.live.page_kind import drawn
from pipeline.live.page_list import PAGES
from pipeline.live.static_files import STATIC

MAKE_ROOM = "framescribe cache gc --max-size 10GB"


def make_app(project: LiveProject, *, keys: Keys) -> Starlette:
    app = Starlette(
        routes=[Route("/", go_home), STATIC, *(route for page in PAGES for route in page.routes)],
        middleware=[Middleware(Gate, keys=keys)],
        exception_handlers={HTTPException: told_status, FramescribeError: told_error, OSError: told_machine},  # type: ignore[dict-item]
    )
    app.state.project = project
    app.state.pages = PAGES
    return app


def go_home(request: Request) -> Response:
    del request
    return RedirectResponse(PAGES[0].path, status_code=303)


def told_status(request: Request, error: HTTPException) -> Response:
    return told(request, str(error.detail), "", status=error.status_code)


def told_error(request: Request, error: FramescribeError) -> Response:
    """A message and the next step: as JSON to a script, as a page to a person."""
    return told(request, error.message, error.hint, status=400 if isinstance(error, UsageError) else 409)


def told_machine(request: Request, error: OSError) -> Response:
    """A full disk, a file that cannot be read: whoever looks at the page can mend it."""
    named = f": {error.filename}" if error.filename else ""
    hint, status = (MAKE_ROOM, 507) if error.errno == ENOSPC else ("framescribe doctor", 500)
    return told(request, f"{error.strerror or error}{named}", hint, status=status)


def told(request: Request, message: str, hint: str, *, status: int) -> Response:
    message, hint = printable_lines(message), printable_lines(hint)  # names may be no UTF-8
    if "text/html" in request.headers.get("accept", ""):
        return drawn(request, "problem.html", status=status, message=message, hint=hint)
    return JSONResponse({"error": message, "hint": hint}, status_code=status)
