"""Scores by coco-caption's conventions: `score(hypotheses, references)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.core import HERE, Executor, InputError, named
from pipeline.evaluation.python_tokenizer import MEASURED, difference
from pipeline.evaluation.record import remarks
from pipeline.evaluation.scorer import CaptionScorer, Scores
from pipeline.evaluation.toolkit import MetricSettings, Tokenizer, Toolkit, open_toolkit

CaptionGroups = Mapping[str, Sequence[str]]  # video -> its references


def score(
    hypotheses: Mapping[str, str],
    references: CaptionGroups,
    *,
    meteor: bool = True,
    tokenizer: Tokenizer = "ptb",
    spice: bool = False,
) -> Scores:
    """All metrics of one sentence per video; `tokenizer="none"` takes words that are tokenised already."""
    settings = MetricSettings(tokenizer=tokenizer, meteor=meteor, spice=spice)
    return score_all(settings, {"": hypotheses}, references)[""]


def score_all(
    settings: MetricSettings,
    predictions: Mapping[str, Mapping[str, str]],
    references: CaptionGroups,
    *,
    executor: Executor = HERE,
) -> dict[str, Scores]:
    """Several sets of predictions for the same videos, by one open toolkit."""
    for hypotheses in predictions.values():
        check_ids(hypotheses, references)
    with open_toolkit(settings, comparisons=len(predictions) * comparisons(references), executor=executor) as tools:
        scorer = PredictionScorer(tools)
        return {name: scorer.score(hypotheses, references) for name, hypotheses in predictions.items()}


@dataclass(frozen=True)
class TokenizedReferences:
    written: CaptionGroups
    tokens: CaptionGroups
    scorer: CaptionScorer


class PredictionScorer:
    """An open toolkit for any number of sets of predictions; what those of the same references share is done once."""

    def __init__(self, tools: Toolkit) -> None:
        self._tools = tools
        self._references: TokenizedReferences | None = None
        self._baseline: tuple[object, Scores] | None = None

    def score(self, hypotheses: Mapping[str, str], references: CaptionGroups) -> Scores:
        tokens = self._tokenize(hypotheses)
        scores = self._prepare(references).scorer.score(tokens)
        facts = self._tools.provenance(references)
        if told := [*remarks(hypotheses, references), *self._tools.remarks]:
            facts["remarks"] = told
        if self._tools.settings.tokenizer == "python":
            facts["tokenizer_off_by"] = self._off_by(scores, hypotheses, tokens, references)
        return replace(scores, provenance=facts)

    def score_baseline(self, caption: str, videos: Sequence[str], references: CaptionGroups) -> Scores:
        """One tokenised caption for all videos; without SPICE, which takes half an hour."""
        asked = (list(videos), references)
        if self._baseline is None or self._baseline[0] != asked:
            scores = self._prepare(references).scorer.score(dict.fromkeys(videos, caption), spice=False)
            self._baseline = asked, scores
        return self._baseline[1]

    def _tokenize(self, hypotheses: Mapping[str, str]) -> dict[str, str]:
        return dict(zip(hypotheses, self._tools.tokenize([*hypotheses.values()]), strict=True))

    def _prepare(self, references: CaptionGroups) -> TokenizedReferences:
        if self._references is None or self._references.written != references:
            tokens = self._tools.tokenize_groups(references)
            self._references = TokenizedReferences(references, tokens, CaptionScorer(tokens, tools=self._tools))
        return self._references

    def _off_by(
        self, scores: Scores, hypotheses: Mapping[str, str], tokens: Mapping[str, str], references: CaptionGroups
    ) -> dict[str, Any]:
        """How far the Python tokeniser is from PTB: on these captions where there is Java, else as measured."""
        if not self._tools.java:
            return {"measured": MEASURED}
        ptb = replace(self._tools, settings=MetricSettings(meteor=False), meteor=None, spice=None)
        exact = PredictionScorer(ptb)
        by_ptb, known = exact._tokenize(hypotheses), exact._prepare(references)
        theirs = known.scorer.score({video: by_ptb[video] for video in references}).corpus
        found = difference(_flat(tokens, self._prepare(references).tokens), _flat(by_ptb, known.tokens))
        return {"here": found | {"scores": {name: scores.corpus[name] - value for name, value in theirs.items()}}}


def _flat(hypotheses: Mapping[str, str], references: CaptionGroups) -> list[str]:
    return [*hypotheses.values(), *(text for texts in references.values() for text in texts)]


def comparisons(references: CaptionGroups) -> int:
    """Pairs of a sentence and a reference."""
    return sum(len(texts) for texts in references.values())


def check_ids(hypotheses: Mapping[str, Any], references: Mapping[str, Sequence[Any]], *, hint: str = "") -> None:
    """Every video needs one sentence and at least one reference."""
    problems = [
        _say("without a sentence", references.keys() - hypotheses.keys()),
        _say("without references", hypotheses.keys() - references.keys()),
        _say("with an empty list of references", {video for video, texts in references.items() if not texts}),
    ]
    if any(problems):
        told = "; ".join(filter(None, problems))
        raise InputError(f"sentences and references are not of the same videos: {told}", hint=hint)
    if not hypotheses:
        raise InputError("there is no sentence to score")


def _say(what: str, videos: set[str]) -> str:
    return f"{len(videos)} {what} ({named(sorted(videos))})" if videos else ""
