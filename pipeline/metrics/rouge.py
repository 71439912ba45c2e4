"""ROUGE-L as coco-caption computes it: best precision and best recall over the references, taken separately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BETA = 1.2


class RougeScorer:
    """Tokenised references in; `score` may then be called with any hypotheses for any of their videos."""

    def __init__(self, references: Mapping[str, Sequence[str]]) -> None:
        # Split at single spaces, not at white space: the convention counts an empty caption as one empty word.
        self._references = {video: [text.split(" ") for text in texts] for video, texts in references.items()}

    def score(self, hypotheses: Mapping[str, str]) -> tuple[float, dict[str, float]]:
        """The mean over the videos given, and every video's own score."""
        each = dict(zip(hypotheses, self.score_each(list(hypotheses), list(hypotheses.values())), strict=True))
        return (sum(each.values()) / len(each) if each else 0.0), each

    def score_each(self, videos: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
        """One score per hypothesis; a video may have several."""
        pairs = zip(videos, hypotheses, strict=True)
        return [rouge_l(text.split(" "), self._references[video]) for video, text in pairs]


def rouge_l(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    masks = _masks(hypothesis)
    common = [_longest_common(masks, len(hypothesis), reference) for reference in references]
    precision = max(common) / len(hypothesis)
    recall = max(length / len(reference) for length, reference in zip(common, references, strict=True))
    if precision == 0:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def _masks(words: Sequence[str]) -> dict[str, int]:
    """For each word an integer with a one at each of its positions."""
    masks: dict[str, int] = {}
    for position, word in enumerate(words):
        masks[word] = masks.get(word, 0) | 1 << position
    return masks


def _longest_common(masks: Mapping[str, int], length: int, words: Sequence[str]) -> int:
    """Length of the longest common subsequence, a whole row of the usual table at a time.

    Bit i of `row` is zero where the table grows at position i; the addition carries a match to the next
    such place (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
    """
    full = (1 << length) - 1
    row = full
    for word in words:
        if mask := masks.get(word):
            hits = row & mask
            row = ((row + hits) | (row - hits)) & full
    return length - row.bit_count()
