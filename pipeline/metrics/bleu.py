"""BLEU-1 to BLEU-4 as coco-caption computes it: corpus level, closest reference length, no smoothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.metrics.ngram_vocabulary import MAX_ORDER, Floats, Ints, sum_by_order
from pipeline.metrics.ngrams import NgramIndex, NgramMatch, as_index

TINY, SMALL = 1e-15, 1e-9  # the convention's guards against division by zero
_STEPS = np.arange(MAX_ORDER)


class BleuScorer:
    """Tokenised references in; `score` may then be called with any hypotheses for any of their videos."""

    def __init__(self, references: Mapping[str, Sequence[str]] | NgramIndex) -> None:
        self._index = as_index(references)

    def score(self, hypotheses: Mapping[str, str]) -> tuple[list[float], dict[str, list[float]]]:
        """BLEU-1..4 of the corpus, which is not the mean, and of every video by itself."""
        counts = self.counts(list(hypotheses), list(hypotheses.values()))
        each = bleu_of_counts(counts)
        return bleu_of_counts(counts.sum(axis=0)).tolist(), dict(zip(hypotheses, each.tolist(), strict=True))

    def score_each(self, videos: Sequence[str], hypotheses: Sequence[str]) -> Floats:
        """(hypotheses, orders): BLEU-1..4 of each by itself; a video may have several."""
        return bleu_of_counts(self.counts(videos, hypotheses))

    def counts(self, videos: Sequence[str], hypotheses: Sequence[str]) -> Floats:
        """(hypotheses, 10): n-grams that match and n-grams in all, of each order; own and closest reference length."""
        match = self._index.match(videos, hypotheses)
        total = np.maximum(match.lengths[:, None] - _STEPS, 0)  # (hypotheses, orders)
        return np.column_stack([self._correct(match), total, match.lengths, self._closest_lengths(match)])

    def _correct(self, match: NgramMatch) -> Floats:
        """N-grams that are in a reference, each counted as often as in the reference that has it most often."""
        most = np.zeros(len(match.counts.gram), dtype=np.int64)
        np.maximum.at(most, match.left, self._index.counts.times[match.right])
        sentence, gram, times = match.counts
        return sum_by_order(sentence, gram, np.minimum(most, times), rows=len(match.lengths))

    def _closest_lengths(self, match: NgramMatch) -> Ints:
        """Of the references of each hypothesis' video; of two equally close the shorter."""
        index = self._index
        lengths = []
        for position, ours in zip(match.positions.tolist(), match.lengths.tolist(), strict=True):
            first = index.first[position]
            theirs = index.lengths[first : first + index.references[position]].tolist()
            lengths.append(min((abs(length - ours), length) for length in theirs)[1])
        return np.array(lengths, dtype=np.int64)


def bleu_of_counts(counts: Floats) -> Floats:
    """(..., orders) from counts (..., 10), of a sentence or summed over many."""
    correct, total = counts[..., :MAX_ORDER], counts[..., MAX_ORDER : 2 * MAX_ORDER]
    ratio = (counts[..., -2] + TINY) / (counts[..., -1] + SMALL)
    precision = np.cumprod((correct + TINY) / (total + SMALL), axis=-1)
    brevity = np.exp(np.minimum(0.0, 1 - 1 / ratio))[..., None]
    return precision ** (1 / (_STEPS + 1)) * brevity
