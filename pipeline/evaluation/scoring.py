"""Scores by coco-caption's conventions: `score(hypotheses, references)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.core import HERE, Executor, InputError, named
from pipeline.evaluation.python_tokenizer import MEASURED, difference
from pipeline.evaluation.scorer import CaptionScorer, Scores
from pipeline.evaluation.tokenizer import tokenize
from pipeline.evaluation.toolkit import MetricSettings, Tokenizer, Toolkit, open_toolkit


def score(
    hypotheses: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    meteor: bool = True,
    tokenizer: Tokenizer = "ptb",
    spice: bool = False,
) -> Scores:
    """All metrics of one sentence a video; `tokenizer="none"` takes words that are tokenised already."""

    settings = MetricSettings(tokenizer=tokenizer, meteor=meteor, spice=spice)
    return score_all(settings, {"": hypotheses}, references)[""]


def score_all(
    settings: MetricSettings,
    said: Mapping[str, Mapping[str, str]],
    references: Mapping[str, Sequence[str]],
    *,
    executor: Executor = HERE,
) -> dict[str, Scores]:
    """Several sets of sentences about the same videos, by one tokeniser and one set of METEOR processes."""

    for hypotheses in said.values():
        check_ids(hypotheses, references)
    with open_toolkit(settings, comparisons=len(said) * comparisons(references), executor=executor) as tools:
        written = {video: [*(said[name][video] for name in said), *texts] for video, texts in references.items()}
        tokenized = tools.tokenize_groups(written)
        scorer = CaptionScorer({video: texts[len(said) :] for video, texts in tokenized.items()}, tools=tools)
        facts = tools.provenance(references) | ({"remarks": list(tools.remarks)} if tools.remarks else {})
        found = {}
        for place, name in enumerate(said):
            scores = scorer.score({video: tokenized[video][place] for video in said[name]})
            if settings.tokenizer == "python":
                off = off_by(scores, tools, written, tokenized, place=place, sets=len(said))
                facts = facts | {"tokenizer_off_by": off}
            found[name] = replace(scores, provenance=facts)
    return found


def off_by(
    scores: Scores,
    tools: Toolkit,
    written: Mapping[str, Sequence[str]],
    tokenized: Mapping[str, Sequence[str]],
    *,
    place: int = 0,
    sets: int = 1,
) -> dict[str, Any]:
    """How far the Python tokeniser is from PTB: on these very captions when there is Java, else where it was measured.

    Each video's captions begin with its sentences, one a set; that at `place` was scored.
    """

    if not tools.java:
        return {"measured": MEASURED}
    lines = iter(tokenize([text for texts in written.values() for text in texts], java=tools.java))
    exact = {video: [next(lines) for _ in texts] for video, texts in written.items()}
    by_ptb = CaptionScorer({video: texts[sets:] for video, texts in exact.items()})
    theirs = by_ptb.score({video: texts[place] for video, texts in exact.items()}).corpus
    found = difference(*([text for texts in table.values() for text in texts] for table in (tokenized, exact)))
    return {"here": found | {"scores": {name: scores.corpus[name] - value for name, value in theirs.items()}}}


def comparisons(references: Mapping[str, Sequence[str]]) -> int:
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
