"""Is one system better than another? A paired test over clips, folds and seeds at once.

The statistic is the difference of corpus scores over all clips, the mean over seeds. `framescribe compare` draws clips
again and takes the models as they are. Here three things are drawn again together: source films instead of clips, for
clips of one film are alike; and in each fold the seeds, for another training would have given other models. Both sides
have the same films, and the same seeds where they have those in common, as two decodings of one model do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from pipeline.evaluation import RESAMPLES, Statistics
from pipeline.metrics import Floats

BLOCK = 250  # resamples at once: of 1,300 clips and three seeds 8 MB
MIDDLE = (0.025, 0.975)


class Scored(NamedTuple):
    """A metric of a system, with the middle 95 % of what drawn films and seeds give."""

    score: float
    low: float
    high: float


class Gap(NamedTuple):
    """Second minus first, and how often a draw has not its sign, two-sided."""

    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Deal:
    """How the clips lie: of each clip, in the order of the statistics, its film and its fold."""

    films: np.ndarray  # (clips,) numbers
    folds: np.ndarray  # (clips,)

    @classmethod
    def of(cls, clips: Sequence[str], sources: Mapping[str, str], held_out: Sequence[Sequence[str]]) -> Deal:
        number = {film: place for place, film in enumerate(sorted(set(sources.values())))}
        fold = {clip: place for place, members in enumerate(held_out) for clip in members}
        return cls(np.array([number[sources[clip]] for clip in clips]), np.array([fold[clip] for clip in clips]))


System = Mapping[str, Statistics]  # seed -> of all clips, in one order


def scores_of(system: System, deal: Deal, *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Scored]:
    (drawn,) = _resampled([system], deal, resamples=resamples, seed=seed)
    return {name: Scored(score, *_middle(drawn[name])) for name, score in means(system).items()}


def compared(first: System, second: System, deal: Deal, *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Gap]:
    ours, theirs = means(first), means(second)
    before, after = _resampled([first, second], deal, resamples=resamples, seed=seed)
    found = {}
    for name in ours:
        gaps = after[name] - before[name]
        found[name] = Gap(theirs[name] - ours[name], *_middle(gaps), p_of_sign(gaps))
    return found


def means(system: System) -> dict[str, float]:
    """Over the seeds."""
    each = [statistics.corpus_scores() for statistics in system.values()]
    return {name: float(np.mean([scores[name] for scores in each])) for name in each[0]}


def p_of_sign(gaps: Floats) -> float:
    """One is added to both counts, so that a thousand draws never say impossible."""
    rarer = min((gaps <= 0).sum(), (gaps >= 0).sum())
    return min(1.0, 2 * float(rarer + 1) / (len(gaps) + 1))


def _resampled(systems: Sequence[System], deal: Deal, *, resamples: int, seed: int) -> list[dict[str, Floats]]:
    """Of each system metric -> (resamples,): the sentences of all seeds as one corpus, each taken as often as drawn."""
    pooled = [_pooled(system) for system in systems]
    blocks = [
        [one.corpus(times) for one, times in zip(pooled, weights, strict=True)]
        for weights in _weights(systems, deal, resamples=resamples, seed=seed)
    ]
    return [
        {name: np.concatenate([block[place][name] for block in blocks]) for name in blocks[0][place]}
        for place in range(len(systems))
    ]


def _pooled(system: System) -> Statistics:
    first, *others = (system[name] for name in sorted(system))
    return reduce(Statistics.concat, others, first)


def _weights(systems: Sequence[System], deal: Deal, *, resamples: int, seed: int) -> Iterator[list[Floats]]:
    """Blocks: of each system (count, seeds * clips). Systems of the same seeds have the same draws."""
    random = np.random.default_rng(seed)
    for start in range(0, resamples, BLOCK):
        count = min(BLOCK, resamples - start)
        clips = _drawn(random, count, int(deal.films.max()) + 1)[:, deal.films]  # (count, clips)
        names = {tuple(sorted(system)) for system in systems}
        shares = {seeds: _seeds(random, count, len(seeds), deal) for seeds in sorted(names)}
        yield [(shares[tuple(sorted(system))] * clips[:, None]).reshape(count, -1) for system in systems]


def _seeds(random: np.random.Generator, count: int, seeds: int, deal: Deal) -> Floats:
    """(count, seeds, clips) the share of each seed, drawn in every fold by itself.

    One fewer is drawn than there are: n of n would vary by (n - 1) / n of what means of n seeds do, of three a third
    too little. A single seed is taken as it is.
    """
    drawn = [_shares(random, count, seeds) for _ in range(int(deal.folds.max()) + 1)]
    return np.stack(drawn, 2)[:, :, deal.folds]


def _shares(random: np.random.Generator, count: int, seeds: int) -> Floats:
    """(count, seeds), 1 in all."""
    return np.ones((count, 1)) if seeds == 1 else _drawn(random, count, seeds, of=seeds - 1) / (seeds - 1)


def _drawn(random: np.random.Generator, count: int, things: int, *, of: int | None = None) -> Floats:
    """(count, things): how often each was drawn, with replacement."""
    return random.multinomial(of or things, np.full(things, 1 / things), size=count).astype(np.float64)


def _middle(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, MIDDLE)
    return float(low), float(high)
