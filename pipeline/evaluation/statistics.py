"""Per-video counts from which every metric of any set of videos follows: by summing them, never by averaging scores.

The reference programs give the scores that are reported; this gives the same numbers for thousands of resamples.
CIDEr-D keeps the document frequencies of all videos that were scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.metrics import MAX_ORDER, Floats, bleu_of_counts

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75  # METEOR 1.5 for English
STAGES = np.array([1.0, 0.6, 0.8, 0.6])  # weights of exact, stem, synonym and paraphrase matches


@dataclass(frozen=True)
class Statistics:
    videos: Sequence[str]
    bleu: Floats  # (videos, 10): n-grams that match and in all, of orders 1..4; own and closest reference length
    meteor: Floats | None  # (videos, 23): what METEOR prints for a sentence
    means: Mapping[str, Floats]  # metric -> (videos,): metrics that are a mean over videos; absent ones are NaN

    def corpus(self, times: NDArray[np.float64]) -> dict[str, Floats]:
        """metric -> (resamples,) from how often each resample takes each video, (resamples, videos)."""
        bleu = bleu_of_counts(times @ self.bleu)
        scores = {f"BLEU-{n + 1}": bleu[:, n] for n in range(MAX_ORDER)}
        if self.meteor is not None:
            scores["METEOR"] = meteor_of_counts(times @ without_perfect_chunks(self.meteor))
        return scores | {name: _mean(values, times) for name, values in self.means.items()}

    def corpus_scores(self) -> dict[str, float]:
        return {name: float(value[0]) for name, value in self.corpus(np.ones((1, len(self.videos)))).items()}

    def subset(self, videos: Sequence[str]) -> Statistics:
        """Of some of the videos, in the order asked for."""
        place = {video: position for position, video in enumerate(self.videos)}
        rows = [place[video] for video in videos]
        meteor = None if self.meteor is None else self.meteor[rows]
        return Statistics(videos, self.bleu[rows], meteor, {name: v[rows] for name, v in self.means.items()})

    def concat(self, other: Statistics) -> Statistics:
        """The videos of both as one corpus."""
        both = self.meteor is not None and other.meteor is not None
        meteor = np.concatenate([self.meteor, other.meteor]) if both else None
        shared = [name for name in self.means if name in other.means]
        return Statistics(
            [*self.videos, *other.videos],
            np.concatenate([self.bleu, other.bleu]),
            meteor,
            {name: np.concatenate([self.means[name], other.means[name]]) for name in shared},
        )


def without_perfect_chunks(counts: Floats) -> Floats:
    """METEOR counts no chunk in a sentence that is its reference, word for word."""
    own, reference, chunks, own_matched, reference_matched = counts[:, [0, 1, 20, 21, 22]].T
    perfect = (own == own_matched) & (reference == reference_matched) & (chunks == 1)
    counted = counts.copy()
    counted[perfect, 20] = 0.0
    return counted


def meteor_of_counts(sums: Floats) -> Floats:
    """(resamples,) from summed counts (resamples, 23); the first of each pair below is the hypothesis' own."""
    lengths, function_words = sums[:, 0:2], sums[:, 2:4]  # (resamples, 2)
    matches = sums[:, 4:20].reshape(-1, len(STAGES), 2, 2)  # (resamples, stages, content or function, 2)
    weighted = np.einsum("rskt,s,k->rt", matches, STAGES, [DELTA, 1 - DELTA])
    possible = (lengths - function_words) * DELTA + function_words * (1 - DELTA)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = (weighted / possible).T
        mean = 1 / ((1 - ALPHA) / precision + ALPHA / recall)
        fragments = sums[:, 20] / (sums[:, 21:23].sum(axis=1) / 2)
        scores = mean * (1 - GAMMA * fragments**BETA)
    return np.maximum(np.nan_to_num(scores, nan=0.0), 0.0)


def _mean(values: Floats, times: NDArray[np.float64]) -> Floats:
    """Over the videos that have a value: a SPICE sub-score has none where there is nothing of its kind."""
    there = np.isfinite(values)
    weight = times @ there.astype(np.float64)
    return np.divide(times @ np.where(there, values, 0.0), weight, out=np.zeros(len(times)), where=weight > 0)
