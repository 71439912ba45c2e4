"""Browse: stores, their videos, the rows of one and what is like them; and the clips with all that was said of them."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.browsing import (
    CANDIDATES,
    SAID_BY,
    STATES,
    SaidOfClip,
    list_stores,
    nearest_rows,
    read_library,
    searched_words,
    store_names,
    store_of,
    store_videos,
    video_rows,
)
from pipeline.core import FramescribeError
from pipeline.live.asked import address, asked, number
from pipeline.live.page_kind import Page, drawn
from pipeline.live.project_player import PLAYED, player_of

ROWS = "/browse/rows"
VIDEOS = "/browse/videos"


def show_stores(request: Request) -> Response:
    lines = list_stores()
    library = read_library()
    facts: dict[str, Any] = {"stores": lines, "clips": len(library.videos), "runs": list(library.captions)}
    return drawn(request, "browse.html", **facts, problems=library.problems, videos_address=VIDEOS)


def show_videos(request: Request) -> Response:
    query = asked(request)
    store = store_of(query.get("store", ""))
    text, state = query.get("q", ""), query.get("state", "all")
    shown = store_videos(store, query=text, state=state, page=number(query.get("page"), default=1))
    name = store.folder.name
    return drawn(
        request,
        "store.html",
        store=name,
        untrained=store.untrained,
        shown=shown,
        q=text,
        state=state if state in STATES else "all",
        states=STATES,
        rows_of=lambda video: address(ROWS, store=name, video=video),
        page_at=lambda page: address(VIDEOS, store=name, q=text, state=state, page=page),
    )


def show_rows(request: Request) -> Response:
    """A video in a store: its rows on a time line, the chosen one, and places for what is like it."""
    query = asked(request)
    store, video = store_of(query.get("store", "")), query.get("video", "")
    name, output = store.folder.name, query.get("output", "")
    others = [each for each in store_names() if each != name]
    facts: dict[str, Any] = {"store": name, "video": video, "stores": others, "clip": read_library().clip(video)}
    facts["untrained"] = store.untrained
    facts["player"] = player_of(video)
    facts["other_store"] = lambda other: address(ROWS, store=other, video=video)
    if store.state(video) == "failed":
        return drawn(request, "rows.html", **facts, failure=str(store.failure(video)), shown=None)
    chosen, page = number(query.get("row"), default=0), number(query.get("page"), default=0)
    shown = video_rows(store, video, output=output, chosen=chosen, page=page)
    return drawn(
        request,
        "rows.html",
        **facts,
        failure="",
        shown=shown,
        outputs=list(store.manifest["outputs"]),
        row_at=lambda row: address(ROWS, store=name, video=video, output=shown.output, row=row),
        page_at=lambda at: address(ROWS, store=name, video=video, output=shown.output, row=shown.chosen, page=at),
        output_at=lambda other: address(ROWS, store=name, video=video, output=other, row=shown.chosen),
        candidates=CANDIDATES,
        nearest=address("/browse/nearest", store=name, video=video, output=shown.output, row=shown.chosen),
    )


def show_nearest(request: Request) -> Response:
    """A part of the page of rows: the first time a store is asked, all of it is read."""
    query = asked(request)
    store, video, output = store_of(query.get("store", "")), query.get("video", ""), query.get("output", "")
    row = number(query.get("row"), default=0)
    found = nearest_rows(store, video, output=output, row=row)
    library, name = read_library(), store.folder.name

    def at(other: str, its_row: int) -> str:
        return address(ROWS, store=name, video=other, output=output, row=its_row)

    return drawn(request, "nearest.html", found=found, clip_of=library.clip, at=at, said_of=first_sentence)


def first_sentence(clip: SaidOfClip) -> str:
    """What people said of it, or else a run."""
    return next(iter(clip.references), "") or next((said.caption for said in clip.said), "")


def show_search(request: Request) -> Response:
    query = asked(request)
    library = read_library()
    asked_for = {key: query.get(key, "") for key in ("q", "by", "split", "slice")}
    shown = library.search(
        asked_for["q"],
        by=asked_for["by"] or "anyone",
        split=asked_for["split"],
        slice_=asked_for["slice"],
        page=number(query.get("page"), default=1),
    )
    return drawn(
        request,
        "search.html",
        shown=shown,
        asked=asked_for,
        words=searched_words(asked_for["q"]),
        player_of=player_of,
        speakers=[*SAID_BY, *(f"run {run}" for run in library.captions)],
        splits=list(library.corpus.splits),
        slices=library.slices,
        problems=library.problems,
        stores=_stores_that_open(),
        rows_of=lambda store, video: address(ROWS, store=store, video=video),
        page_at=lambda page: address("/search", **asked_for, page=page),
    )


def _stores_that_open() -> list[str]:
    """A damaged one has no rows to lead to."""
    names = []
    for name in store_names():
        try:
            store_of(name)
        except (FramescribeError, OSError):
            continue
        names.append(name)
    return names


BROWSE = Page(
    "/browse",
    "Browse",
    [
        Route("/browse", show_stores),
        Route(VIDEOS, show_videos),
        Route(ROWS, show_rows),
        Route("/browse/nearest", show_nearest),
        PLAYED,
    ],
)
SEARCH = Page("/search", "Search", [Route("/search", show_search)])
