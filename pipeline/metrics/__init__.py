"""The door to scoring: `score(hypotheses, references)` by coco-caption's conventions.

`CaptionScorer` is for those who score several sets of hypotheses against the same tokenised references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.errors import InputError
from pipeline.metrics.reading import named

if TYPE_CHECKING:
    from pipeline.metrics.scorer import Scores
    from pipeline.metrics.toolkit import Settings, Tokenizer, Toolkit

NAMES = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D")


def score(
    hypotheses: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    meteor: bool = True,
    tokenizer: Tokenizer = "ptb",
    spice: bool = False,
    workers: int = 1,
) -> Scores:
    """All metrics of one sentence a video; `tokenizer="none"` takes words that are tokenised already."""
    from pipeline.metrics.toolkit import Settings

    return score_with(
        Settings(tokenizer=tokenizer, meteor=meteor, spice=spice, workers=workers), hypotheses, references
    )


def score_with(settings: Settings, hypotheses: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> Scores:
    from pipeline.metrics.scorer import CaptionScorer
    from pipeline.metrics.toolkit import open_toolkit

    check_ids(hypotheses, references)
    with open_toolkit(settings, comparisons=comparisons(references)) as tools:
        together = {video: [hypotheses[video], *texts] for video, texts in references.items()}
        tokenized = tools.tokenize_groups(together)
        said = {video: tokenized[video][0] for video in hypotheses}
        scores = CaptionScorer({video: texts[1:] for video, texts in tokenized.items()}, tools=tools).score(said)
        facts = tools.provenance(references)
        if settings.tokenizer == "python":
            facts["tokenizer_off_by"] = off_by(scores, tools, together, tokenized)
    return replace(scores, provenance=facts | ({"remarks": list(tools.remarks)} if tools.remarks else {}))


def off_by(
    scores: Scores, tools: Toolkit, together: Mapping[str, Sequence[str]], tokenized: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """How far the Python tokeniser is from PTB: on these very captions when there is Java, else where it was measured.

    Of each video the first caption is the hypothesis.
    """
    from pipeline.metrics.python_tokenizer import MEASURED, difference
    from pipeline.metrics.scorer import CaptionScorer
    from pipeline.metrics.tokenizer import tokenize

    if not tools.java:
        return {"measured": MEASURED}
    lines = iter(tokenize([text for texts in together.values() for text in texts], java=tools.java))
    exact = {video: [next(lines) for _ in texts] for video, texts in together.items()}
    by_ptb = CaptionScorer({video: texts[1:] for video, texts in exact.items()})
    reference = by_ptb.score({video: texts[0] for video, texts in exact.items()}).corpus
    found = difference(
        [text for texts in tokenized.values() for text in texts], [text for texts in exact.values() for text in texts]
    )
    return {"here": found | {"scores": {name: scores.corpus[name] - value for name, value in reference.items()}}}


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
