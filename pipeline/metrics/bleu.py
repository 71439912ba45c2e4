"""BLEU-1 to BLEU-4 as coco-caption computes it: corpus level, closest reference length, no smoothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.metrics.ngrams import Match, NgramIndex, as_index
from pipeline.metrics.vocabulary import MAX_ORDER, Floats, Ints, sum_by_order

TINY, SMALL = 1e-15, 1e-9  # the convention's guards against division by zero
_STEPS = np.arange(MAX_ORDER)


class BleuScorer:
    """Tokenised references in; `score` may then be called with any hypotheses for any of their videos."""

    def __init__(self, references: Mapping[str, Sequence[str]] | NgramIndex) -> None:
        self._index = as_index(references)

    def score(self, hypotheses: Mapping[str, str]) -> tuple[list[float], dict[str, list[float]]]:
        """BLEU-1..4 of the corpus, which is not the mean, and of every video by itself."""
        correct, guessed, ours, closest = self._counts(list(hypotheses), list(hypotheses.values()))
        corpus = _bleu(correct.sum(axis=0), guessed.sum(axis=0), ours.sum(), closest.sum())
        each = _bleu(correct, guessed, ours, closest)
        return corpus.tolist(), dict(zip(hypotheses, each.tolist(), strict=True))

    def score_each(self, videos: Sequence[str], hypotheses: Sequence[str]) -> Floats:
        """(hypotheses, orders): BLEU-1..4 of each by itself; a video may have several."""
        return _bleu(*self._counts(videos, hypotheses))

    def _counts(self, videos: Sequence[str], hypotheses: Sequence[str]) -> tuple[Floats, Ints, Ints, Ints]:
        match = self._index.match(videos, hypotheses)
        guessed = np.maximum(match.lengths[:, None] - _STEPS, 0)  # (hypotheses, orders)
        return self._correct(match), guessed, match.lengths, self._closest_lengths(match)

    def _correct(self, match: Match) -> Floats:
        """N-grams that are in a reference, each counted as often as in the reference that has it most often."""
        most = np.zeros(len(match.counts.gram), dtype=np.int64)
        np.maximum.at(most, match.left, self._index.counts.times[match.right])
        sentence, gram, times = match.counts
        return sum_by_order(sentence, gram, np.minimum(most, times), rows=len(match.lengths))

    def _closest_lengths(self, match: Match) -> Ints:
        """Of the references of each hypothesis' video; of two equally close the shorter."""
        index = self._index
        lengths = []
        for position, ours in zip(match.positions.tolist(), match.lengths.tolist(), strict=True):
            first = index.first[position]
            theirs = index.lengths[first : first + index.references[position]].tolist()
            lengths.append(min((abs(length - ours), length) for length in theirs)[1])
        return np.array(lengths, dtype=np.int64)


def _bleu(correct: Floats, guessed: Ints, ours: Ints, theirs: Ints) -> Floats:
    """(..., orders) from counts (..., orders) and lengths (...)."""
    precision = np.cumprod((correct + TINY) / (guessed + SMALL), axis=-1)
    ratio = (np.asarray(ours) + TINY) / (np.asarray(theirs) + SMALL)
    brevity = np.exp(np.minimum(0.0, 1 - 1 / ratio))[..., None]
    return precision ** (1 / (_STEPS + 1)) * brevity
