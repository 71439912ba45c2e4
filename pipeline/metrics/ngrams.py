"""References as sorted n-gram counts, made once, and joined with the n-grams of any hypotheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.metrics.ngram_vocabulary import Ints, NgramVocabulary, pair, unpair


class NgramCounts(NamedTuple):
    """One entry for each distinct n-gram of a sentence."""

    sentence: Ints  # (entries,)
    gram: Ints  # (entries,)
    times: Ints  # (entries,) how often it occurs there


class NgramMatch(NamedTuple):
    """Hypotheses beside the references of their videos."""

    positions: Ints  # (hypotheses,) of their videos in the index
    lengths: Ints  # (hypotheses,) in words
    counts: NgramCounts  # of the hypotheses
    left: Ints  # (pairs,) entry of `counts` ...
    right: Ints  # (pairs,) ... and entry of `NgramIndex.counts` with the same n-gram, of the same video


class NgramIndex:
    """The references of all videos; entries are sorted by video, then n-gram, so that a join is a binary search."""

    def __init__(self, references: Mapping[str, Sequence[str]], *, vocabulary: NgramVocabulary | None = None) -> None:
        self.vocabulary = vocabulary.copy() if vocabulary else NgramVocabulary()
        self.videos = {video: position for position, video in enumerate(references)}
        self.references = np.array([len(captions) for captions in references.values()], dtype=np.int64)  # (videos,)
        self.first = np.cumsum(self.references) - self.references  # (videos,) number of its first sentence
        sentences = [caption.split() for captions in references.values() for caption in captions]
        self.lengths = np.array([len(words) for words in sentences], dtype=np.int64)  # (sentences,)
        counts = _count(*self.vocabulary.encode(sentences, learn=True))
        video_of, _ = ranges(self.first, self.references)  # (sentences,)
        keys = pair(video_of[counts.sentence], counts.gram)
        by_key = np.argsort(keys, kind="stable")
        self._keys = keys[by_key]
        self.counts = NgramCounts(*(column[by_key] for column in counts))

    def match(self, videos: Sequence[str], hypotheses: Sequence[str]) -> NgramMatch:
        """Hypotheses of any of the videos, in any order; a video may come more than once."""
        sentences = [hypothesis.split() for hypothesis in hypotheses]
        lengths = np.array([len(words) for words in sentences], dtype=np.int64)
        positions = np.array([self.videos[video] for video in videos], dtype=np.int64)
        counts = _count(*self.vocabulary.encode(sentences, learn=False))
        left, right = self._join(pair(positions[counts.sentence], counts.gram))
        return NgramMatch(positions, lengths, counts, left, right)

    def document_frequencies(self) -> Ints:
        """In the references of how many videos each n-gram occurs, by its number."""
        _, grams = unpair(self._keys[_first_of_run(self._keys)])
        return np.bincount(grams)

    def _join(self, keys: Ints) -> tuple[Ints, Ints]:
        first = np.searchsorted(self._keys, keys, side="left")
        return ranges(first, np.searchsorted(self._keys, keys, side="right") - first)


def as_index(references: Mapping[str, Sequence[str]] | NgramIndex) -> NgramIndex:
    """Scorers of the same references can share one index."""
    return references if isinstance(references, NgramIndex) else NgramIndex(references)


def ranges(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Each owner's run of consecutive numbers: (0, 0, 1) and (7, 8, 2) for first = (7, 2), counts = (2, 1)."""
    owner = np.repeat(np.arange(len(first)), counts)
    return owner, (first - (np.cumsum(counts) - counts))[owner] + np.arange(len(owner))


def _count(sentence: Ints, gram: Ints) -> NgramCounts:
    keys, times = np.unique(pair(sentence, gram), return_counts=True)
    return NgramCounts(*unpair(keys), times)


def _first_of_run(values: Ints) -> Ints:
    """Places in a sorted array where a new value begins."""
    return np.flatnonzero(np.diff(values, prepend=-1))
