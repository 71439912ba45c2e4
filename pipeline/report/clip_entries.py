"""The browser's content: the caption of each run for each video, its scores, and which videos get pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pipeline.corpus import tokenize
from pipeline.report.films import Film
from pipeline.report.overlays import views
from pipeline.report.results import HEADLINE, Captions, ReportedRun


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


def list_entry(
    video: str, *, runs: Sequence[ReportedRun], metrics: Sequence[str], captions: Captions
) -> dict[str, Any]:
    """All of a video that can be searched, filtered and sorted by."""
    references = captions.captions.get(video, [])
    answers = [
        _answer(run, number, video, references, metrics)
        for number, run in enumerate(runs)
        if video in run.answers.predictions
    ]
    return {"id": video, "slice": captions.slices.get(video, ""), "references": references, "said": answers}


def _answer(
    run: ReportedRun, number: int, video: str, references: Sequence[str], metrics: Sequence[str]
) -> dict[str, Any]:
    prediction = run.answers.predictions[video]
    scores = run.evaluation.per_video.get(video, {})
    return {
        "run": number,
        "words": prediction.caption.split(),
        "odd": odd_words(prediction.caption, references),
        "score": _rounded(scores.get(HEADLINE)),
        "scores": [_rounded(scores.get(metric)) for metric in metrics],
        "log_prob": _rounded(prediction.log_prob),
    } | _first_reading(prediction.first_reading, references)


def _first_reading(caption: str | None, references: Sequence[str]) -> dict[str, Any]:
    return {} if caption is None else {"first": {"words": caption.split(), "odd": odd_words(caption, references)}}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def odd_words(caption: str, references: Sequence[str]) -> list[int]:
    """Places of the words that no reference has; without references there is nothing to tell."""
    known = {_plain(word) for reference in references for word in _words_of(reference)}
    words = [_plain(word) for word in caption.split()]
    return [place for place, word in enumerate(words) if known and word and word not in known]


def _words_of(reference: str) -> list[str]:
    """What other alphabets put between words may be nothing."""
    return reference.split() + ([] if reference.isascii() else tokenize(reference, "unicode"))


def _plain(word: str) -> str:
    return re.sub(r"[^\w]", "", word).casefold()


def detail(video: str, *, runs: Sequence[ReportedRun], film: Film, picture: str, played: str = "") -> dict[str, Any]:
    """What is read only when a video is shown: its film, and the attention per word of every run."""
    maps = [
        {"run": number, "words": _words(run, video)}
        | views(
            looks,
            facts=run.answers.looks,
            size=film.size,
            duration=film.duration,
            picture=film.nearest,
            moment=film.at,
        )
        for number, run in enumerate(runs)
        if (looks := run.looks.get(video)) and video in run.answers.predictions
    ]
    return {"film": film_entry(film, picture), "played": played, "looks": maps}


def film_entry(film: Film, picture: str) -> dict[str, Any]:
    return {
        "size": film.size,
        "duration": round(film.duration, 3),
        "seconds": [round(second, 2) for second in film.seconds],
        "strip": film.strip,
        "tile": film.picture,
        "picture": picture,
        "problem": film.problem,
    }


def _words(run: ReportedRun, video: str) -> list[str]:
    prediction = run.answers.predictions[video]
    return prediction.words or prediction.caption.split()
