"""Votes that people cast on a vote page, counted: who wins how often, with intervals and a sign test.

A clip is the unit. Votes of several people on one clip are not independent, so the clip goes to the run with more of
them; intervals and the test are over clips.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core import Console, InputError, named, read_sealed_json, write_json
from pipeline.evaluation.ballot import KeyPair, VoteKey, first_fault, read_key

LEVEL = 1.959963984540054  # the normal quantile of a 95 % interval
ALPHA = 0.05
AGAIN = "ask the voter to open the page again and press Save votes"
SHORT = 8  # digits of a voter's number in the table

Winner = Literal["first", "second", "tie"]


class VoteFile(BaseModel):
    """What the browser saves."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ballot: str
    voter: str  # a random number, drawn once in a browser
    votes: dict[str, Literal["left", "right", "tie"]]


@dataclass(frozen=True)
class Count:
    first: int
    second: int
    tie: int

    @property
    def decided(self) -> int:
        return self.first + self.second

    @property
    def share(self) -> float | None:
        """Of the second, where one was chosen."""
        return self.second / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(self.second, self.decided) if self.decided else None

    @property
    def p_sign(self) -> float | None:
        return sign_test(self.first, self.second) if self.decided else None

    def summary(self) -> dict[str, Any]:
        return vars(self) | {"share": self.share, "interval": self.interval, "p_sign": self.p_sign}


def wilson(wins: int, trials: int) -> tuple[float, float]:
    """The 95 % score interval of a share: right for few votes and near 0 and 1, where the normal one is not."""
    share, square = wins / trials, LEVEL**2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = LEVEL / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def sign_test(first: int, second: int) -> float:
    """Two-sided and exact: how often a fair coin is at least as one-sided; ties are left out."""
    trials, rarer = first + second, min(first, second)
    tail = sum(math.comb(trials, wins) for wins in range(rarer + 1))
    return min(1.0, 2 * tail / 2**trials)


def count_votes(files: Sequence[Path], *, key: Path, out: Path | None = None, console: Console) -> dict[str, Any]:
    """The table of `framescribe compare --votes`."""
    opened = read_key(key)
    ballots, again = _once_each([(path, _read(path, opened, key)) for path in files], console)
    voters = {one.voter: _opened(one, opened.pairs) for one in ballots}
    clips = Counter(_majority(chosen) for chosen in _by_clip(voters.values()).values())
    found = {
        "runs": opened.runs,
        "clips": _count(clips).summary(),
        "votes": vars(_count(Counter(one for votes in voters.values() for one in votes.values()))),
        "voters": {voter: _count(Counter(votes.values())).summary() for voter, votes in voters.items()},
        "counted_once": [str(path) for path in again],
        "asked": len(opened.pairs),
        "differ": opened.differ,
        "same": opened.same,
    }
    _show(found, _count(clips), {voter: _count(Counter(votes.values())) for voter, votes in voters.items()}, console)
    if out:
        write_json(out, found)
    return found


def _read(path: Path, key: VoteKey, key_path: Path) -> VoteFile:
    try:
        found = VoteFile.model_validate(read_sealed_json(path, hint=AGAIN))
    except ValidationError as error:
        told = f"{path} holds no votes: {first_fault(error)}"
        raise InputError(told, hint="give the files that the page saved: framescribe-votes-*.json") from error
    if found.ballot != key.ballot:
        told = f"{path} has votes of the page {found.ballot}, and {key_path} is the key of {key.ballot}"
        raise InputError(told, hint="give that page's own key: --key PAGE.key.json")
    if unknown := sorted(found.votes.keys() - key.pairs.keys()):
        raise InputError(f"{path} votes on pairs that the page never asked: {named(unknown)}", hint=AGAIN)
    if not found.votes:
        raise InputError(f"{path} has no vote in it", hint=AGAIN)
    return found


def _once_each(found: Sequence[tuple[Path, VoteFile]], console: Console) -> tuple[list[VoteFile], list[Path]]:
    """A voter counts once: the same votes again are told and left out, other votes of the same voter are refused."""
    kept: dict[str, tuple[Path, VoteFile]] = {}
    again = []
    for path, one in found:
        if one.voter not in kept:
            kept[one.voter] = path, one
            continue
        before, earlier = kept[one.voter]
        if earlier.votes != one.votes:
            told = f"{before} and {path} are of the same voter and differ; which one counts?"
            raise InputError(told, hint="give the one that was saved last")
        console.say(f"{path} has the same votes of the same voter as {before}: counted once")
        again.append(path)
    return [one for _, one in kept.values()], again


def _opened(one: VoteFile, pairs: Mapping[str, KeyPair]) -> dict[str, Winner]:
    """video -> whom the voter chose."""
    return {pairs[token].video: _winner(side, pairs[token]) for token, side in one.votes.items()}


def _winner(side: str, pair: KeyPair) -> Winner:
    if side == "tie":
        return "tie"
    return "first" if (side == "left") == pair.first_is_left else "second"


def _by_clip(voters: Iterable[Mapping[str, Winner]]) -> dict[str, list[Winner]]:
    clips: dict[str, list[Winner]] = {}
    for votes in voters:
        for video, winner in votes.items():
            clips.setdefault(video, []).append(winner)
    return clips


def _majority(chosen: Sequence[Winner]) -> Winner:
    lead = chosen.count("first") - chosen.count("second")
    return "tie" if lead == 0 else "first" if lead > 0 else "second"


def _count(winners: Mapping[Winner, int]) -> Count:
    return Count(*(winners.get(winner, 0) for winner in ("first", "second", "tie")))


def _show(found: Mapping[str, Any], clips: Count, voters: Mapping[str, Count], console: Console) -> None:
    first, second = found["runs"]
    columns = ["", first, second, "tie", f"share of {second}", "95 % interval", "p (sign test)"]
    votes = found["votes"]
    rows = [_row(f"voter {voter[:SHORT]}", one) for voter, one in voters.items()]
    if len(voters) > 1:
        rows.append(["all votes", *map(str, votes.values()), "", "", ""])
        rows.append(_row("clips by majority", clips))
    console.table(columns, rows, title=f"{len(voters)} voters, {found['asked']} clips asked")
    total = found["differ"] + found["same"]
    console.say(f"both say the same on {found['same']} of {total} clips; those asked are drawn from the others")
    if not clips.decided or sign_test(0, clips.decided) > ALPHA:
        told = f"{clips.decided} decided clips can tell nothing: if all were for one run, p would not be below {ALPHA}"
        console.say(f"{told}; ask more with --clips")


def _row(name: str, one: Count) -> list[str]:
    low, high = one.interval or (0.0, 0.0)
    measured = ["-", "-", "-"]
    if one.decided:
        measured = [f"{one.share:.3f}", f"{low:.3f} to {high:.3f}", f"{one.p_sign:.3g}"]
    return [name, str(one.first), str(one.second), str(one.tie), *measured]
