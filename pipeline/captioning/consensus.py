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
Judges = Callable[[Sequence[str]], Mapping[str, Sequence[Sequence[str]]]]  # of every video captions, by their judge
Lent = Mapping[tuple[str, str], int]  # (video, candidate) -> number of the judge that lends it


@dataclass(frozen=True)
class Consensus:
    """A search: candidates of each video, and the one that is closest to all others and to the judges' captions."""

    candidates: Candidates
    closeness: Closeness
    vocabulary: Vocabulary
    judges: Judges | None = None
    weight: float = 1.0  # of the judges beside the candidates together
    lend: int = 0  # captions of each judge that are candidates too
    max_words: int = 0  # in a caption that is lent

    def __call__(self, model: Captioner, state: State, videos: Sequence[str]) -> list[Hypothesis]:
        found = self.candidates(model, state, videos)
        pools = {
            video: Counter(map(self.vocabulary.decode, sentences))
            for video, sentences in zip(videos, found, strict=True)
        }
        judges = self.judges(videos) if self.judges else {}
        lent = self._lent(pools, judges)
        agreed = closest(pools, self.closeness, judges=judges, weight=self.weight, lent=lent)
        return forced(model, state, [self._numbers(agreed[video]) for video in videos])

    def _numbers(self, sentence: str) -> list[int]:
        return self.vocabulary.encode(sentence.split())[:-1]

    def _lent(self, pools: Mapping[str, Counter[str]], judges: Mapping[str, Sequence[Sequence[str]]]) -> Lent:
        """The first captions of each judge that the model could have said, and has not."""
        lent: dict[tuple[str, str], int] = {}
        for video, captions in judges.items():
            for place, sentences in enumerate(captions):
                new = [each for each in dict.fromkeys(sentences) if self._can_say(each) and each not in pools[video]]
                for sentence in new[: self.lend]:
                    lent.setdefault((video, sentence), place)
        return lent

    def _can_say(self, sentence: str) -> bool:
        words = sentence.split()
        return 0 < len(words) <= self.max_words and self.vocabulary.decode(self._numbers(sentence)) == sentence


def closest(
    pools: Mapping[str, Counter[str]],
    closeness: Closeness,
    *,
    judges: Mapping[str, Sequence[Sequence[str]]] | None = None,
    weight: float = 1.0,
    lent: Lent | None = None,
) -> dict[str, str]:
    """Of every video's candidates, counted, the best that says something; of equally good ones the first."""
    agreed = agreement(pools, closeness, judges=judges, weight=weight, lent=lent)
    return {video: max(rates, key=lambda said: (bool(said), rates[said])) for video, rates in agreed.items()}


def agreement(
    pools: Mapping[str, Counter[str]],
    closeness: Closeness,
    *,
    judges: Mapping[str, Sequence[Sequence[str]]] | None = None,
    weight: float = 1.0,
    lent: Lent | None = None,
) -> dict[str, dict[str, float]]:
    """Video -> candidate -> how close it is to the others and to the judges."""
    lent = lent or {}
    pairs = [*((video, sentence) for video, pool in pools.items() for sentence in pool), *lent]
    scores = _to_others(pools, pairs, closeness)
    if judges:
        scores += weight * _to_judges(judges, pairs, lent, closeness)
    rates: dict[str, dict[str, float]] = {}
    for (video, sentence), score in zip(pairs, scores.tolist(), strict=True):
        rates.setdefault(video, {})[sentence] = score
    return rates


def _to_others(pools: Mapping[str, Counter[str]], pairs: Sequence[tuple[str, str]], closeness: Closeness) -> np.ndarray:
    """(pairs,) mean closeness of each candidate to the other sentences that the model said of its video."""
    sizes = np.array([pools[video].total() for video, _ in pairs])
    inside = np.array([sentence in pools[video] for video, sentence in pairs])
    whole = closeness({video: list(pool.elements()) for video, pool in pools.items()}, pairs)
    # Each by itself: what a candidate adds to its own mean is taken away again.
    own = closeness(
        {str(number): [sentence] for number, (_, sentence) in enumerate(pairs)},
        [(str(number), sentence) for number, (_, sentence) in enumerate(pairs)],
    )
    return (whole * sizes - own * inside) / np.maximum(sizes - inside, 1)


def _to_judges(
    judges: Mapping[str, Sequence[Sequence[str]]], pairs: Sequence[tuple[str, str]], lent: Lent, closeness: Closeness
) -> np.ndarray:
    """(pairs,) mean closeness to the captions of all judges but the one that lends the candidate; 0 without any."""
    asked = [
        (row, place, sentence, video)
        for row, (video, sentence) in enumerate(pairs)
        for place, captions in enumerate(judges[video])
        if captions and lent.get((video, sentence)) != place
    ]
    if not asked:
        return np.zeros(len(pairs))
    references = {f"{place} {video}": judges[video][place] for _, place, _, video in asked}
    close = closeness(references, [(f"{place} {video}", sentence) for _, place, sentence, video in asked])
    rows = [row for row, *_ in asked]
    counts = np.array([len(judges[video][place]) for _, place, _, video in asked], dtype=float)
    totals = np.bincount(rows, counts, minlength=len(pairs))
    return np.bincount(rows, close * counts, minlength=len(pairs)) / np.maximum(totals, 1)
