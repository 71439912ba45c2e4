"""Bootstrap intervals of scores, and paired tests of differences: videos are resampled, corpus metrics recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.core import FEWEST_VIDEOS
from pipeline.evaluation.statistics import Statistics
from pipeline.metrics import Floats

RESAMPLES = 1000
SEED = 0
LEVEL = 0.95  # of the intervals
BLOCK = 1 << 23  # numbers drawn at once: 64 MB
Interval = tuple[float, float]
Resampled = dict[str, Floats]  # metric -> (resamples,)
Side = Sequence[Statistics]  # one run, or runs that differ only by seed


@dataclass(frozen=True)
class Difference:
    """Of one metric between two sides, second minus first."""

    first: float
    second: float
    difference: float
    interval: Interval | None  # this and both p: none of so few videos that they would not hold
    p_bootstrap: float | None  # two-sided paired bootstrap: how often the difference has not the sign that was found
    p_permutation: (
        float | None
    )  # two-sided permutation test: how often exchanged predictions differ as much; none for unequal sides
    spread: tuple[float | None, float | None]  # standard deviation over the seeds of each side, where there are several


def too_few(videos: int) -> str:
    """What is said of so few videos; nothing of enough."""
    return (
        "" if videos >= FEWEST_VIDEOS else f"nothing can be told from {videos} videos; {FEWEST_VIDEOS} are the fewest"
    )


def intervals(statistics: Statistics, *, resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Interval]:
    """The middle 95 % of each metric over resampled videos; nothing for so few that it would not hold."""
    if not resamples or too_few(len(statistics.videos)):
        return {}
    ordered = statistics.subset(sorted(statistics.videos))  # the order of a file decides no draw
    drawn = _over(_draws(len(statistics.videos), resamples=resamples, seed=seed), ordered.corpus)
    return {name: _middle(values) for name, values in drawn.items()}


def compare(first: Side, second: Side, *, resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Difference]:
    """Paired: both sides are scored on the same resampled videos. All must be of the same videos, in one order."""
    videos = len(first[0].videos)
    ours, theirs = ([statistics.corpus_scores() for statistics in side] for side in (first, second))
    drawn = {} if too_few(videos) else _drawn(first, second, resamples=resamples, seed=seed)
    exchanged = _exchanged(first, second, resamples=resamples, seed=seed) if drawn and len(first) == len(second) else {}
    found = {}
    for name in _shared([*ours, *theirs]):
        before, after = ([scores[name] for scores in side] for side in (ours, theirs))
        gap = float(np.mean(after) - np.mean(before))
        found[name] = Difference(
            first=float(np.mean(before)),
            second=float(np.mean(after)),
            difference=gap,
            interval=_middle(drawn[name]) if drawn else None,
            p_bootstrap=_p_of_sign(drawn[name]) if drawn else None,
            p_permutation=_p_of_size(exchanged[name], gap) if exchanged else None,
            spread=(spread(before), spread(after)),
        )
    return found


def _shared(scores: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics that all have."""
    return [name for name in scores[0] if all(name in one for one in scores)]


def _drawn(first: Side, second: Side, *, resamples: int, seed: int) -> Resampled:
    """Differences of both sides on the same drawn videos."""
    return _over(
        _draws(len(first[0].videos), resamples=resamples, seed=seed),
        lambda times: _gap(*([statistics.corpus(times) for statistics in side] for side in (first, second))),
    )


def _gap(first: Sequence[Resampled], second: Sequence[Resampled]) -> Resampled:
    """Of each metric that all have: the mean over seeds of the second side minus that of the first."""
    return {name: _mean(second, name) - _mean(first, name) for name in _shared([*first, *second])}


def _mean(scores: Sequence[Resampled], name: str) -> Floats:
    mean: Floats = np.mean([one[name] for one in scores], axis=0)
    return mean


def _exchanged(first: Side, second: Side, *, resamples: int, seed: int) -> Resampled:
    """Differences after the two predictions of each video were exchanged, or not, at random."""
    both = [one.concat(other) for one, other in zip(first, second, strict=True)]

    def tossed(stay: Floats) -> Resampled:
        leave = 1 - stay
        ours, theirs = np.hstack([stay, leave]), np.hstack([leave, stay])
        return _gap([pair.corpus(ours) for pair in both], [pair.corpus(theirs) for pair in both])

    return _over(_tosses(len(first[0].videos), resamples=resamples, seed=seed), tossed)


def _draws(videos: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of (resamples, videos): how often each video was drawn."""
    random = np.random.default_rng(seed)
    for count in _blocks(resamples, videos):
        drawn = random.integers(videos, size=(count, videos)) + np.arange(count)[:, None] * videos
        yield np.bincount(drawn.ravel(), minlength=count * videos).reshape(count, videos).astype(np.float64)


def _tosses(videos: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for count in _blocks(resamples, videos):
        yield random.integers(2, size=(count, videos)).astype(np.float64)


def _blocks(resamples: int, videos: int) -> Iterator[int]:
    size = max(1, BLOCK // max(1, videos))
    yield from (min(size, resamples - start) for start in range(0, resamples, size))


def _over(blocks: Iterator[Floats], work: Callable[[Floats], Resampled]) -> Resampled:
    parts = [work(block) for block in blocks]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _middle(values: Floats) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _p_of_sign(gaps: Floats) -> float:
    """One is added to both counts, so that a thousand resamples never say impossible."""
    rarer = min((gaps <= 0).sum(), (gaps >= 0).sum())
    return min(1.0, 2 * float(rarer + 1) / (len(gaps) + 1))


def _p_of_size(gaps: Floats, found: float) -> float:
    at_least = (np.abs(gaps) >= abs(found) - 1e-12).sum()
    return float(at_least + 1) / (len(gaps) + 1)


def spread(scores: Sequence[float]) -> float | None:
    """The standard deviation of a sample; one score has none."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else None
