"""The page on which people choose between the sentences of two runs, and cannot know whose is whose.

Everything is inside: films, sentences, scripts. Names of runs and videos are in the key beside it, which stays with us.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.core import Console, InputError, Progress, UsageError, write_bytes
from pipeline.evaluation import Ballot, Pair, VoteKey, draw_ballot, key_beside, write_key
from pipeline.index import VideoIndex, read_index
from pipeline.report.browser import picture_inside, script_json
from pipeline.report.clip_entries import film_entry
from pipeline.report.films import Film, read_film, spread_indices
from pipeline.report.page import page_environment, scripts_of, source_of

PICTURES = 24  # of one clip: enough to see what moves
SCRIPTS = ("views.js", "sha256.js", "vote.js")
INDEX = Path("data/index")


def make_vote_page(
    first: str, second: str, *, out: Path, clips: int, seed: int, index: Path = INDEX, console: Console
) -> dict[str, Any]:
    """Write the page and, beside it, its key."""
    if clips < 1:
        raise UsageError(f"--clips must be 1 or more, got {clips}")
    ballot, key_path = draw_ballot(first, second, seed=seed), key_beside(out)
    with console.progress("vote page", min(clips, len(ballot.pairs))) as progress:
        shown = list(islice(_with_films(ballot, read_index(index), progress), clips))
    if not shown:
        told = f"none of the {len(ballot.pairs)} clips on which {first} and {second} differ could be read"
        raise InputError(told, hint="framescribe decode")
    key = ballot.key([pair for pair, _ in shown])
    write_key(key_path, key)
    write_bytes(out, render_vote_page(key, shown).encode())
    console.say(
        f"page: {out} ({len(shown)} clips, of {len(ballot.pairs)} on which the two differ; {ballot.same} are the same)"
    )
    console.say(f"key: {key_path}   keep it from the voters")
    console.say(f"next: framescribe compare --votes FILE ... --key {key_path}")
    return {"page": str(out), "key": str(key_path), "clips": len(shown), "differ": key.differ, "same": key.same}


def _with_films(ballot: Ballot, index: VideoIndex, progress: Progress) -> Iterator[tuple[Pair, Film]]:
    """In the order drawn; a clip that cannot be read can be judged by nobody."""
    for pair in ballot.pairs:
        row = index.rows.get(pair.video)
        film = read_film(pair.video, index=index, wanted=spread_indices(row.frames, PICTURES) if row else ())
        if film.jpeg:
            progress.advance()
            yield pair, film


def render_vote_page(key: VoteKey, shown: list[tuple[Pair, Film]]) -> str:
    environment = page_environment()
    pairs = [
        {"token": pair.token, "left": pair.left, "right": pair.right, "film": film_entry(film, picture_inside(film))}
        for pair, film in shown
    ]
    return environment.get_template("vote.html").render(
        count=len(pairs),
        inside=script_json({"ballot": key.ballot, "pairs": pairs}),
        folder="",
        style=source_of(environment, "style.css") + source_of(environment, "vote.css"),
        **scripts_of(environment, SCRIPTS),
    )
