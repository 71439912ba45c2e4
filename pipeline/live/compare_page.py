"""Compare: two runs on the same clips with the statistics of `framescribe compare`, what differs most, the vote."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.browsing import SORTED_BY, differing_clips, evaluated_names, paired_statistics, read_library
from pipeline.live.asked import address, asked, number
from pipeline.live.page_kind import Page, drawn
from pipeline.live.project_player import player_of
from pipeline.live.vote_pages import VOTE_ROUTES, VOTES

ORDERS = dict(zip(SORTED_BY, ("largest difference", "second ahead", "first ahead"), strict=True))


def show_comparison(request: Request) -> Response:
    query = asked(request)
    names = evaluated_names()
    first, second = query.get("first", ""), query.get("second", "")
    chosen: dict[str, Any] = {"first": first, "second": second, "names": names, "orders": ORDERS, "votes": VOTES}
    if not (first and second):
        suggested = (*names, "", "")[:2]
        return drawn(request, "compare.html", **chosen, suggested=suggested, found=None)
    return drawn(request, "compare.html", **chosen, suggested=(first, second), **_compared(first, second, query))


def _compared(first: str, second: str, query: dict[str, str]) -> dict[str, Any]:
    found, library = paired_statistics(first, second), read_library()
    by, slice_ = query.get("by", "difference"), query.get("slice", "")
    page = number(query.get("page"), default=1)
    shown = differing_clips(first, second, library=library, by=by, slice_=slice_, page=page)
    return {
        "found": found,
        "shown": shown,
        "by": by if by in ORDERS else "difference",
        "slice": slice_,
        "slices": library.slices,
        "problems": library.problems,
        "player_of": player_of,
        "page_at": lambda at: address("/compare", first=first, second=second, by=by, slice=slice_, page=at),
        "turned": address("/compare", first=second, second=first, by=by, slice=slice_),
    }


COMPARE = Page("/compare", "Compare", [Route("/compare", show_comparison), *VOTE_ROUTES])
