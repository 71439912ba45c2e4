"""The blind vote from here: the page of `compare --vote-page` is made, voted on here or sent, and counted."""

from __future__ import annotations

import json
import re
import shutil
import threading
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pipeline.browsing import evaluated_names
from pipeline.core import Console, InputError, UsageError, printable, record_sha256
from pipeline.evaluation import count_votes
from pipeline.live.asked import address, asked, number
from pipeline.live.bodies import limited
from pipeline.live.page_kind import drawn, project_of
from pipeline.report import make_vote_page

VOTES = "/compare/vote"
MOST_CLIPS = 200  # of a page: each has its pictures inside
MOST_BALLOTS = 20  # kept; of more the oldest goes, and is made again when it is asked for
MOST_FILES = 50  # of votes, counted at once
MOST_BYTES = 2_000_000  # of all of them
SECONDS = 60.0  # in which they must come
OWN_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]+)"')
QUIET = Console(quiet=True)
_once = threading.Lock()


def make_ballot(request: Request) -> Response:
    """Decodes the clips, then leads to the ballot's own address."""
    query = asked(request)
    first, second = (_evaluated(query.get(name, "")) for name in ("first", "second"))
    clips = min(max(number(query.get("clips"), default=50), 1), MOST_CLIPS)
    seed = number(query.get("seed"), default=0)
    settings = {"first": first, "second": second, "clips": clips, "seed": seed}
    folder = _folder(request, settings)
    with _once:
        if not (folder / "vote.html").is_file():
            _forget_oldest(folder.parent)
            folder.mkdir(parents=True, exist_ok=True)
            make_vote_page(first, second, out=folder / "vote.html", clips=clips, seed=seed, console=QUIET)
    return RedirectResponse(address(VOTES, **settings), status_code=303)


def show_ballot(request: Request) -> Response:
    settings, _ = _made(request)
    return drawn(request, "vote_made.html", **_facts(settings))


def send_page(request: Request) -> Response:
    """The page as it was made, under its own policy: its scripts are inside, known by their hashes."""
    text = (_made(request)[1] / "vote.html").read_text()
    policy = OWN_POLICY.search(text)
    if policy is None:
        raise HTTPException(500, "the vote page states no policy")
    return HTMLResponse(text, headers={"Content-Security-Policy": f"{policy[1]}; frame-ancestors 'none'"})


def send_file(request: Request) -> Response:
    """The page or its key, to be kept."""
    kinds = {"page": "vote.html", "key": "vote.key.json"}
    name = kinds.get(request.path_params["kind"])
    if name is None:
        raise HTTPException(404, "there is no such file")
    return FileResponse(_made(request)[1] / name, filename=name)


async def count_ballots(request: Request) -> Response:
    """Files that voters saved, as a JSON list of their texts; nobody's file names come here."""
    pieces = [piece async for piece in limited(request, most=MOST_BYTES, seconds=SECONDS)]
    texts = _texts(b"".join(pieces))
    return await run_in_threadpool(_show_count, request, texts)


def _show_count(request: Request, texts: list[str]) -> Response:
    settings, folder = _made(request)
    return drawn(request, "vote_count.html", **settings, counted=_counted(texts, folder))


def _texts(body: bytes) -> list[str]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not (isinstance(found, list) and 0 < len(found) <= MOST_FILES and all(isinstance(one, str) for one in found)):
        raise UsageError(
            f"1 to {MOST_FILES} files of votes are counted at once", hint="choose what the vote page saved"
        )
    return found


def _counted(texts: list[str], folder: Path) -> dict[str, Any]:
    place = folder / "votes"
    with _once:
        try:
            place.mkdir()
            files = [place / f"votes-{number_}.json" for number_ in range(1, len(texts) + 1)]
            for file, text in zip(files, texts, strict=True):
                file.write_bytes(text.encode(errors="replace"))
            return count_votes(files, key=folder / "vote.key.json", console=QUIET)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _evaluated(name: str) -> str:
    if name not in evaluated_names():
        raise InputError(f"no run '{printable(name)}' was evaluated", hint="dvc repro evaluate")
    return name


def _folder(request: Request, settings: dict[str, Any]) -> Path:
    """Named by a hash of what was asked for: no part of it comes from a request."""
    return project_of(request).folder / "votes" / record_sha256(settings)[:16]


def _made(request: Request) -> tuple[dict[str, Any], Path]:
    query = asked(request)
    numbers = {key: number(query.get(key), default=0) for key in ("clips", "seed")}
    settings = {name: _evaluated(query.get(name, "")) for name in ("first", "second")} | numbers
    folder = _folder(request, settings)
    if not (folder / "vote.html").is_file():
        raise InputError("this ballot is not here (any more)", hint="make it again on the page Compare")
    return settings, folder


def _facts(settings: dict[str, Any]) -> dict[str, Any]:
    return settings | {
        "page": address(f"{VOTES}/page", **settings),
        "save_page": address(f"{VOTES}/save/page", **settings),
        "save_key": address(f"{VOTES}/save/key", **settings),
        "count": address(f"{VOTES}/count", **settings),
        "back": address("/compare", first=settings["first"], second=settings["second"]),
    }


def _forget_oldest(folder: Path) -> None:
    ballots = sorted(folder.glob("*"), key=lambda path: path.stat().st_mtime)
    for old in ballots[: max(0, len(ballots) - MOST_BALLOTS + 1)]:
        shutil.rmtree(old, ignore_errors=True)


VOTE_ROUTES = [
    Route(VOTES, show_ballot),
    Route(f"{VOTES}/make", make_ballot, methods=["POST"]),
    Route(f"{VOTES}/page", send_page),
    Route(f"{VOTES}/save/{{kind}}", send_file),
    Route(f"{VOTES}/count", count_ballots, methods=["POST"]),
]
