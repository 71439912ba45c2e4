"""The example browser's content: which clips are shown, and what each run said about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pipeline.report.pictures import attention_strip
from pipeline.report.results import Captions, Prediction, Run


@dataclass(frozen=True, kw_only=True)
class Frame:
    picture: str  # data URI
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Film:
    """A video's thumbnails, or the reason why there are none."""

    frames: list[Frame]
    duration: float = 0.0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Word:
    text: str
    known: bool  # some reference has it


@dataclass(frozen=True, kw_only=True)
class Look:
    """Where a word looked: a strip over the clip's time and its strongest moment."""

    word: str
    strip: str  # data URI
    start: float  # seconds of the strongest row
    end: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    run: str
    color: int
    words: list[Word]
    score: float | None
    log_prob: float | None
    looks: list[Look]


@dataclass(frozen=True, kw_only=True)
class Clip:
    id: str
    slice: str
    film: Film
    references: list[str]
    answers: list[Answer]

    @property
    def mean(self) -> float | None:
        scores = self._scores()
        return sum(scores) / len(scores) if scores else None

    @property
    def spread(self) -> float:
        """How far the runs disagree about this clip."""
        scores = self._scores()
        return max(scores) - min(scores) if scores else 0.0

    def _scores(self) -> list[float]:
        return [answer.score for answer in self.answers if answer.score is not None]


def choose(videos: Iterable[str], *, slices: Mapping[str, str], count: int) -> list[str]:
    """`count` videos, as evenly over the slices as they allow and in turns, evenly spaced by id inside a slice."""
    groups: dict[str, list[str]] = {}
    for video in sorted(set(videos)):
        groups.setdefault(slices.get(video, ""), []).append(video)
    shares = _fair_shares({name: len(group) for name, group in groups.items()}, count)
    chosen = [_evenly(groups[name], shares[name]) for name in sorted(groups)]
    return [video for turn in zip_longest(*chosen) for video in turn if video is not None]


def _fair_shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Deal places one by one, in the order of names, to the slices that still have a video."""
    shares = dict.fromkeys(sorted(sizes), 0)
    for _ in range(min(count, sum(sizes.values()))):
        open_slices = [name for name in shares if shares[name] < sizes[name]]
        shares[min(open_slices, key=shares.__getitem__)] += 1
    return shares


def _evenly(videos: Sequence[str], count: int) -> list[str]:
    return [videos[(2 * part + 1) * len(videos) // (2 * count)] for part in range(count)]


def build_clip(video: str, *, runs: Sequence[Run], captions: Captions, film: Film) -> Clip:
    references = captions.captions.get(video, [])
    return Clip(
        id=video,
        slice=captions.slices.get(video, ""),
        film=film,
        references=references,
        answers=[
            _answer(run, color, run.answers.predictions[video], video, references, film.duration)
            for color, run in enumerate(runs)
            if video in run.answers.predictions
        ],
    )


def _answer(
    run: Run, color: int, prediction: Prediction, video: str, references: Sequence[str], duration: float
) -> Answer:
    return Answer(
        run=run.name,
        color=color,
        words=mark_words(prediction.caption, references),
        score=run.video_score(video),
        log_prob=prediction.log_prob,
        looks=_looks(prediction, duration),
    )


def mark_words(caption: str, references: Sequence[str]) -> list[Word]:
    """Tell the words that some reference has from those that none has; without references there is nothing to tell."""
    known = {_plain(word) for reference in references for word in reference.split()}
    return [Word(text=word, known=not known or _plain(word) in known or not _plain(word)) for word in caption.split()]


def _plain(word: str) -> str:
    return re.sub(r"[^\w]", "", word).casefold()


def _looks(prediction: Prediction, duration: float) -> list[Look]:
    rows = prediction.attention.time if prediction.attention else []
    words = prediction.words or prediction.caption.split()
    pairs = [(word, weights) for word, weights in zip(words, rows, strict=False) if weights]
    peak = max((max(weights) for _, weights in pairs), default=0.0)
    return [_look(word, weights, peak, duration) for word, weights in pairs]


def _look(word: str, weights: Sequence[float], peak: float, duration: float) -> Look:
    strongest = max(range(len(weights)), key=weights.__getitem__)
    step = duration / len(weights)
    return Look(
        word=word,
        strip=attention_strip(weights, peak=peak),
        start=strongest * step,
        end=(strongest + 1) * step,
        weight=weights[strongest],
    )
