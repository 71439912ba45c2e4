"""CIDEr-D as coco-caption computes it, with the references' vectors made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.metrics.ngram_vocabulary import Floats, Ints, NgramVocabulary, sum_by_order
from pipeline.metrics.ngrams import NgramIndex, NgramMatch, as_index, ranges

SIGMA = 6.0  # of the Gaussian penalty on the difference in length
SCALE = 10.0


@dataclass(frozen=True)
class DocumentFrequencies:
    """In how many of a corpus' videos each n-gram occurs."""

    documents: int
    counts: Ints  # by the number that `vocabulary` gives an n-gram
    vocabulary: NgramVocabulary

    @classmethod
    def of(cls, references: Mapping[str, Sequence[str]] | NgramIndex) -> DocumentFrequencies:
        index = as_index(references)
        return cls(len(index.videos), index.document_frequencies(), index.vocabulary)

    def idf(self, grams: Ints) -> Floats:
        """An n-gram that the corpus lacks weighs as much as one that a single video has."""
        counts = np.append(self.counts, 0)[np.minimum(grams, len(self.counts))]
        return np.log(float(max(1, self.documents))) - np.log(np.maximum(1, counts))


class CiderScorer:
    """Tokenised references in; `score` may then be called with any hypotheses for any of their videos.

    Document frequencies come from the references themselves or, for a few videos alone, from a larger corpus:
    `CiderScorer(few, DocumentFrequencies.of(many))`.
    """

    def __init__(
        self,
        references: Mapping[str, Sequence[str]] | NgramIndex,
        document_frequencies: DocumentFrequencies | None = None,
    ) -> None:
        self._index = index = _index(references, document_frequencies)
        self._frequencies = document_frequencies or DocumentFrequencies.of(index)
        self._weights = index.counts.times * self._frequencies.idf(index.counts.gram)  # (entries,)
        squares = sum_by_order(index.counts.sentence, index.counts.gram, self._weights**2, rows=len(index.lengths))
        self._norms = np.sqrt(squares)  # (sentences, orders)

    def score(self, hypotheses: Mapping[str, str]) -> tuple[float, dict[str, float]]:
        """The mean over the videos given, and every video's own score."""
        scores = self.score_each(list(hypotheses), list(hypotheses.values()))
        corpus = float(scores.mean()) if len(scores) else 0.0
        return corpus, dict(zip(hypotheses, scores.tolist(), strict=True))

    def score_each(self, videos: Sequence[str], hypotheses: Sequence[str]) -> Floats:
        """One score per hypothesis; a video may have several, for instance samples and a greedy baseline."""
        match = self._index.match(videos, hypotheses)
        references = self._index.references[match.positions]  # (hypotheses,)
        asked, sentences = ranges(self._index.first[match.positions], references)  # (comparisons,)
        likeness = self._cosines(match, asked, sentences).mean(axis=1)
        likeness *= self._length_penalty(match.lengths[asked], sentences)
        return SCALE * np.bincount(asked, likeness, minlength=len(hypotheses)) / references

    def _cosines(self, match: NgramMatch, asked: Ints, sentences: Ints) -> Floats:
        """(comparisons, orders): clipped to the reference's weight, so that repeating a word gains nothing."""
        sentence, gram, times = match.counts
        ours, theirs = times * self._frequencies.idf(gram), self._weights[match.right]
        products = np.minimum(ours[match.left], theirs) * theirs
        dots = sum_by_order(self._comparison_of(match), gram[match.left], products, rows=len(asked))
        norms = np.sqrt(sum_by_order(sentence, gram, ours**2, rows=len(match.lengths)))
        scale = norms[asked] * self._norms[sentences]
        return np.divide(dots, scale, out=np.zeros_like(scale), where=scale > 0)

    def _comparison_of(self, match: NgramMatch) -> Ints:
        """(pairs,) which comparison of a hypothesis with a reference each pair of equal n-grams belongs to."""
        references = self._index.references[match.positions]
        shift = np.cumsum(references) - references - self._index.first[match.positions]  # (hypotheses,)
        return shift[match.counts.sentence[match.left]] + self._index.counts.sentence[match.right]

    def _length_penalty(self, lengths: Ints, sentences: Ints) -> Floats:
        """The convention measures length in bigrams, so that one word is as long as none."""
        ours, theirs = np.maximum(lengths - 1, 0), np.maximum(self._index.lengths[sentences] - 1, 0)
        return np.exp(-((ours - theirs) ** 2) / (2 * SIGMA**2))


def _index(references: Mapping[str, Sequence[str]] | NgramIndex, given: DocumentFrequencies | None) -> NgramIndex:
    """Frequencies of another corpus are known by that corpus' numbers, so the references must take those."""
    if not given:
        return as_index(references)
    if isinstance(references, NgramIndex):
        raise ValueError("with document_frequencies of another corpus, give the references themselves, not an index")
    return NgramIndex(references, vocabulary=given.vocabulary)
