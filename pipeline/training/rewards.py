"""Rewards of self-critical training: a weighted sum of the metrics that captions are evaluated by.

Document frequencies are those of the training references. Words instead of PTB tokens: no Java but for METEOR.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from pipeline.corpus import EOS, LATIN, SPECIALS, Words, tokenize
from pipeline.metrics import (
    BleuScorer,
    CiderScorer,
    NgramIndex,
    RougeScorer,
    find_java,
    meteor_process,
    processes_worth,
)


class Rewards:
    """A context manager, because METEOR's processes must end.

    With `end_word` the end of a sentence is a word for CIDEr-D and BLEU-4: the n-grams of "playing a" are all in
    "playing a guitar", but not those of "playing a <eos>".
    """

    def __init__(
        self,
        references: Mapping[str, Sequence[str]],
        weights: Mapping[Any, float],
        *,
        end_word: bool = False,
        words: Words = LATIN,
    ) -> None:
        cut = {id_: [" ".join(tokenize(text, words)) for text in texts] for id_, texts in references.items()}
        self._references = cut
        self._weights = {name: weight for name, weight in weights.items() if weight}
        self._end = f" {SPECIALS[EOS]}" if end_word else ""
        index = NgramIndex({id_: [text + self._end for text in texts] for id_, texts in self._references.items()})
        self._cider, self._bleu, self._rouge = CiderScorer(index), BleuScorer(index), RougeScorer(self._references)
        self._open = ExitStack()

    def __enter__(self) -> Rewards:
        if "meteor" in self._weights:
            # in an epoch a caption for each reference of a video is compared with all of them
            comparisons = sum(len(texts) ** 2 for texts in self._references.values())
            processes = processes_worth(comparisons, cores=len(os.sched_getaffinity(0)))
            self._meteor = self._open.enter_context(meteor_process(java=find_java(), processes=processes))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __call__(
        self, videos: Sequence[str], sentences: Sequence[str], ended: Sequence[bool] | None = None
    ) -> np.ndarray:
        """(sentences,) the reward of each for its video; those that were cut, and did not end, have no end word."""
        whole = [True] * len(sentences) if ended is None else ended
        closed = [text + self._end * end for text, end in zip(sentences, whole, strict=True)]
        total = np.zeros(len(sentences))
        for name, weight in self._weights.items():
            scored = closed if name in ("cider", "bleu4") else sentences
            total += weight * getattr(self, f"_{name}_each")(videos, scored)
        return total

    def _cider_each(self, videos: Sequence[str], sentences: Sequence[str]) -> np.ndarray:
        return self._cider.score_each(videos, sentences)

    def _bleu4_each(self, videos: Sequence[str], sentences: Sequence[str]) -> np.ndarray:
        return self._bleu.score_each(videos, sentences)[:, 3]

    def _rouge_each(self, videos: Sequence[str], sentences: Sequence[str]) -> np.ndarray:
        return np.array(self._rouge.score_each(videos, sentences))

    def _meteor_each(self, videos: Sequence[str], sentences: Sequence[str]) -> np.ndarray:
        pairs = [(text, self._references[video]) for video, text in zip(videos, sentences, strict=True)]
        return np.array(self._meteor.evaluate(self._meteor.statistics(pairs))[1])
