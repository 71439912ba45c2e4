"""Consensus decoding (minimum Bayes risk): of several candidates the one that is closest to the others.

What most candidates agree on is likelier to be right than the likeliest single sentence. Captions of the nearest
training videos may judge too. No caption of the video itself has any part in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.base import Captioner, State
from pipeline.captioner import Hypothesis, forced
from pipeline.captioning.closeness import Closeness
from pipeline.corpus import Vocabulary

Candidates = Callable[[Captioner, State, Sequence[str]], list[list[list[int]]]]  # of every video, as word numbers
Judges = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]  # of every video sentences from elsewhere


@dataclass(frozen=True)
class Consensus:
    """A search: candidates of each video, and the one that is closest to all others and to the judges' sentences."""

    candidates: Candidates
    closeness: Closeness
    vocabulary: Vocabulary
    judges: Judges | None = None
    weight: float = 1.0  # of the judges beside the candidates together

    def __call__(self, model: Captioner, state: State, videos: Sequence[str]) -> list[Hypothesis]:
        found = self.candidates(model, state, videos)
        pools = {
            video: Counter(map(self.vocabulary.decode, sentences))
            for video, sentences in zip(videos, found, strict=True)
        }
        judges = self.judges(videos) if self.judges else None
        agreed = closest(pools, self.closeness, judges=judges, weight=self.weight)
        return forced(model, state, [self._numbers(agreed[video]) for video in videos])

    def _numbers(self, sentence: str) -> list[int]:
        return self.vocabulary.encode(sentence.split())[:-1]


def closest(
    pools: Mapping[str, Counter[str]],
    closeness: Closeness,
    *,
    judges: Mapping[str, Sequence[str]] | None = None,
    weight: float = 1.0,
) -> dict[str, str]:
    """Of every video's candidates, counted, the best that says something; of equally good ones the first."""
    agreed = agreement(pools, closeness, judges=judges, weight=weight)
    return {video: max(rates, key=lambda said: (bool(said), rates[said])) for video, rates in agreed.items()}


def agreement(
    pools: Mapping[str, Counter[str]],
    closeness: Closeness,
    *,
    judges: Mapping[str, Sequence[str]] | None = None,
    weight: float = 1.0,
) -> dict[str, dict[str, float]]:
    """Video -> candidate -> how close it is to the others and to the judges."""
    pairs = [(video, sentence) for video, pool in pools.items() for sentence in pool]
    scores = _to_others(pools, pairs, closeness)
    if judges:
        judged = np.array([bool(judges[video]) for video, _ in pairs])
        asked = [pair for pair, known in zip(pairs, judged, strict=True) if known]
        scores[judged] += weight * closeness({video: judges[video] for video, _ in asked}, asked)
    rates: dict[str, dict[str, float]] = {}
    for (video, sentence), score in zip(pairs, scores.tolist(), strict=True):
        rates.setdefault(video, {})[sentence] = score
    return rates


def _to_others(pools: Mapping[str, Counter[str]], pairs: Sequence[tuple[str, str]], closeness: Closeness) -> np.ndarray:
    """(pairs,) mean closeness of each candidate to the other candidates of its video."""
    sizes = np.array([pools[video].total() for video, _ in pairs])
    whole = closeness({video: list(pool.elements()) for video, pool in pools.items()}, pairs)
    # Each by itself: what a candidate adds to its own mean is taken away again.
    own = closeness(
        {str(number): [sentence] for number, (_, sentence) in enumerate(pairs)},
        [(str(number), sentence) for number, (_, sentence) in enumerate(pairs)],
    )
    return (whole * sizes - own) / np.maximum(sizes - 1, 1)
