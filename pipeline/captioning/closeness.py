"""How close captions are to each other: the mean over references of CIDEr-D or of sentence BLEU-4."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pipeline.metrics import BleuScorer, CiderScorer, DocumentFrequencies

# (video -> references, (video, sentence) pairs) -> (pairs,) the mean over the references of its video
Closeness = Callable[[Mapping[str, Sequence[str]], Sequence[tuple[str, str]]], np.ndarray]


def cider_closeness(training: Mapping[str, Sequence[str]]) -> Closeness:
    """Words count by how rare they are in the training captions, tokenised as the candidates are."""
    frequencies = DocumentFrequencies.of(training)

    def closeness(references: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        scorer = CiderScorer(references, frequencies)
        return scorer.score_each([video for video, _ in pairs], [sentence for _, sentence in pairs])

    return closeness


def bleu_closeness(references: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """With each reference alone, and then the mean: against all at once, a single equal one would be enough."""
    each = {(video, number): [text] for video, texts in references.items() for number, text in enumerate(texts)}
    scorer = BleuScorer({f"{number} {video}": text for (video, number), text in each.items()})
    return np.array([_mean_bleu(scorer, video, sentence, len(references[video])) for video, sentence in pairs])


def _mean_bleu(scorer: BleuScorer, video: str, sentence: str, references: int) -> float:
    scores = scorer.score_each([f"{number} {video}" for number in range(references)], [sentence] * references)
    return float(scores[:, 3].mean())
