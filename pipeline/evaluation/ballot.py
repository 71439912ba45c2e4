"""What people vote on: clips with the sentences of two runs, left and right by lot, and the key to which is whose.

The lot is drawn from the seed and all sentences of both runs, so that the same command draws the same, and nobody who
has the page alone can draw it again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core import InputError, UsageError, named, read_sealed_json, record_sha256, write_sealed_json
from pipeline.evaluation.prediction_files import read_predictions
from pipeline.predictions import read_run_predictions

PREDICTIONS = Path("predictions")
TOKEN = 16  # hex digits
AGAIN = "make page and key again: framescribe compare RUN_A RUN_B --vote-page PAGE"


class KeyPair(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    video: str
    first_is_left: bool


class VoteKey(BaseModel):
    """Which sentence is whose; voters must not see it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ballot: str  # the page that this key opens
    runs: list[str]  # the first and the second
    seed: int
    differ: int  # clips on which the two say something different: the pairs are drawn from these
    same: int  # clips on which both say the same: there is nothing to choose
    pairs: dict[str, KeyPair]


@dataclass(frozen=True)
class Pair:
    """One question, as the voter sees it."""

    token: str
    video: str
    left: str
    right: str
    first_is_left: bool


@dataclass(frozen=True)
class Ballot:
    """All questions that could be asked, in the order drawn."""

    runs: tuple[str, str]
    seed: int
    same: int
    pairs: Sequence[Pair]

    def key(self, asked: Sequence[Pair]) -> VoteKey:
        """Of the pairs that the page asks."""
        pairs = {pair.token: KeyPair(video=pair.video, first_is_left=pair.first_is_left) for pair in asked}
        drawn = {token: vars(pair) for token, pair in pairs.items()}
        ballot = record_sha256([drawn, [[pair.left, pair.right] for pair in asked]])[:TOKEN]
        return VoteKey(
            ballot=ballot,
            runs=[*self.runs],
            seed=self.seed,
            differ=len(self.pairs),
            same=self.same,
            pairs=pairs,
        )


def draw_ballot(first: str, second: str, *, seed: int) -> Ballot:
    """Of two runs, or of two files of predictions."""
    if first == second:
        raise UsageError(f"'{first}' twice: there is nothing to choose between", hint="name two runs")
    ours, theirs = sentences_of(first), sentences_of(second)
    if apart := sorted(ours.keys() ^ theirs.keys()):
        raise InputError(f"{first} and {second} are of different videos: {named(apart)}")
    videos = [video for video in sorted(ours) if _plain(ours[video]) != _plain(theirs[video])]
    if not videos:
        raise InputError(f"{first} and {second} say the same about all {len(ours)} videos: nobody could choose")
    lot = random.Random(record_sha256([seed, sorted(ours.items()), sorted(theirs.items())]))
    lot.shuffle(videos)
    pairs = [_drawn(video, ours[video], theirs[video], lot) for video in videos]
    return Ballot((first, second), seed, len(ours) - len(videos), pairs)


def sentences_of(name: str) -> Mapping[str, str]:
    """By video: of a run by its name, or of a file of predictions in any format that `evaluate` reads."""
    if Path(name).is_file():
        return read_predictions(Path(name))[1]
    return read_run_predictions(PREDICTIONS / f"{name}.json", run=name)[1]


def _plain(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).rstrip(" .")


def _drawn(video: str, ours: str, theirs: str, lot: random.Random) -> Pair:
    token, first_is_left = f"{lot.getrandbits(4 * TOKEN):0{TOKEN}x}", lot.random() < 0.5
    left, right = (ours, theirs) if first_is_left else (theirs, ours)
    return Pair(token, video, left, right, first_is_left)


def key_beside(page: Path) -> Path:
    return page.with_suffix(".key.json")


def write_key(path: Path, key: VoteKey) -> None:
    write_sealed_json(path, key.model_dump())


def read_key(path: Path) -> VoteKey:
    try:
        return VoteKey.model_validate(read_sealed_json(path, hint=AGAIN))
    except ValidationError as error:
        told = f"{path} is no key of a vote page: {first_fault(error)}"
        raise InputError(told, hint="give the file that --vote-page wrote beside the page: --key FILE") from error


def first_fault(error: ValidationError) -> str:
    first: Any = error.errors()[0]
    return f"'{'.'.join(map(str, first['loc']))}': {first['msg']}"
