"""All metrics of one hypothesis per video, against references that are indexed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.evaluation.spice import Kinds, score_spice
from pipeline.evaluation.statistics import Statistics
from pipeline.evaluation.toolkit import Toolkit
from pipeline.metrics import MAX_ORDER, BleuScorer, CiderScorer, Floats, Meteor, NgramIndex, RougeScorer, bleu_of_counts

Column = tuple[float, Sequence[float]]  # a metric of the corpus, and of every video


@dataclass(frozen=True)
class Scores:
    """Fractions; CIDEr-D on coco-caption's own scale (0.6, not 60)."""

    corpus: dict[str, float]
    per_video: dict[str, dict[str, float]]
    statistics: Statistics
    spice_kinds: Kinds = field(default_factory=dict)  # kind -> video -> F score, where the video has any of the kind
    provenance: dict[str, Any] = field(default_factory=dict)


class CaptionScorer:
    """Tokenised references in; `score` may then be called with any tokenised hypotheses for any of their videos."""

    def __init__(self, references: Mapping[str, Sequence[str]], *, tools: Toolkit | None = None) -> None:
        index = NgramIndex(references)
        self._references, self._tools = references, tools
        self._bleu, self._rouge, self._cider = BleuScorer(index), RougeScorer(references), CiderScorer(index)

    def score(self, hypotheses: Mapping[str, str], *, spice: bool = True) -> Scores:
        """Without tools: BLEU, ROUGE-L and CIDEr-D alone."""
        counts = self._bleu.counts(list(hypotheses), list(hypotheses.values()))  # (videos, 10)
        columns, meteor = _bleu_columns(counts), None
        if self._tools and self._tools.meteor:
            columns["METEOR"], meteor = self._meteor(self._tools.meteor, hypotheses)
        means = {"ROUGE-L": _column(self._rouge.score(hypotheses)), "CIDEr-D": _column(self._cider.score(hypotheses))}
        kinds: Kinds = {}
        tools = self._tools
        if spice and tools and tools.spice and tools.java:
            each, kinds = score_spice(
                hypotheses, self._references, java=tools.java, folder=tools.spice, executor=tools.executor
            )
            means["SPICE"] = (float(np.mean(list(each.values()))), list(each.values()))
        columns |= means
        return Scores(
            {name: corpus for name, (corpus, _) in columns.items()},
            {video: {name: each[n] for name, (_, each) in columns.items()} for n, video in enumerate(hypotheses)},
            Statistics(list(hypotheses), counts, meteor, {name: np.array(each) for name, (_, each) in means.items()}),
            kinds,
        )

    def _meteor(self, meteor: Meteor, hypotheses: Mapping[str, str]) -> tuple[Column, Floats]:
        lines = meteor.statistics([(text, self._references[video]) for video, text in hypotheses.items()])
        return meteor.evaluate(lines), np.array([line.split() for line in lines], dtype=np.float64)  # (videos, 23)


def _bleu_columns(counts: Floats) -> dict[str, Column]:
    corpus, each = bleu_of_counts(counts.sum(axis=0)), bleu_of_counts(counts)
    return {f"BLEU-{n + 1}": (float(corpus[n]), each[:, n].tolist()) for n in range(MAX_ORDER)}


def _column(scores: tuple[float, Mapping[str, float]]) -> Column:
    return scores[0], list(scores[1].values())
