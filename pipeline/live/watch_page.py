"""Watch: the commands that run in this project, the ends of the workers' logs, and what the disks hold."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.browsing import disk_use, list_logs, tail_of
from pipeline.core import clock, read_commands, seconds_left
from pipeline.live.asked import address, asked
from pipeline.live.page_kind import Page, drawn

COMMANDS_EVERY, LOG_EVERY, DISK_EVERY = 2, 3, 30  # seconds
SHOWN = 8  # commands


def show_watch(request: Request) -> Response:
    files = list_logs()
    wanted = asked(request).get("log", "")
    chosen = wanted or (files[0].name if files else "")
    return drawn(
        request,
        "watch.html",
        **_commands(),
        files=files,
        chosen=chosen,
        log=address("/watch/log", log=chosen),
        every={"commands": COMMANDS_EVERY, "log": LOG_EVERY, "disk": DISK_EVERY},
        lines=tail_of(chosen) if chosen else [],
    )


def show_commands(request: Request) -> Response:
    return drawn(request, "commands.html", **_commands())


def show_log(request: Request) -> Response:
    return drawn(request, "log.html", lines=tail_of(asked(request).get("log", "")), at_clock=at_clock)


def show_disk(request: Request) -> Response:
    return drawn(request, "disk.html", found=disk_use())


def _commands() -> dict[str, Any]:
    found = read_commands(count=SHOWN)
    return {
        "commands": found,
        "running": sum(command.runs for command in found),
        "clock": clock,
        "left": seconds_left,
        "ago": lambda moment: max(0.0, time.time() - moment),
        "at_clock": at_clock,
        "is_page": is_page,
    }


def at_clock(moment: float | None) -> str:
    """The time of day where the server is."""
    try:
        return "" if moment is None else time.strftime("%H:%M:%S", time.localtime(moment))
    except (OverflowError, ValueError, OSError):  # a line of a log may say anything
        return ""


def is_page(link: str) -> bool:
    """What may be a link: a command's file is not ours alone, and `javascript:` is an address too."""
    return urlsplit(link).scheme in ("http", "https")


WATCH = Page(
    "/watch",
    "Watch",
    [
        Route("/watch", show_watch),
        Route("/watch/commands", show_commands),
        Route("/watch/log", show_log),
        Route("/watch/disk", show_disk),
    ],
)
