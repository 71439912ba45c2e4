"""`framescribe.score`: captions against references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipeline import evaluation
from pipeline.core import HERE


@dataclass(frozen=True)
class CaptionScores:
    """Fractions; CIDEr-D on coco-caption's own scale (0.6, not 60)."""

    scores: dict[str, float]  # metric -> of all videos
    intervals: dict[str, tuple[float, float]]  # metric -> 95 % over resampled videos; none of few videos
    per_video: dict[str, dict[str, float]]  # video -> metric -> score
    spice: dict[str, float]  # its sub-scores, where it was computed
    provenance: dict[str, Any]  # versions, the tokeniser, and remarks: what a reader of the scores should know


def score(
    predictions: Mapping[str, str],
    references: Mapping[str, str | Sequence[str]],
    *,
    tokenizer: Literal["ptb", "python", "unicode", "none"] = "ptb",
    meteor: bool = True,
    spice: bool = True,
    common: bool = False,
    resamples: int = evaluation.RESAMPLES,
) -> CaptionScores:
    """One sentence a video against its references, by coco-caption's conventions.

    The options are those of `framescribe evaluate --predictions P --references R`, and so are the scores. SPICE is left
    out where its models are not here; with `common` the videos are scored that both have.
    """
    found, summary = evaluation.score_captions(
        evaluation.predictions_of(dict(predictions)),
        evaluation.references_of(references),
        settings=evaluation.MetricSettings(tokenizer=tokenizer, meteor=meteor, spice=spice),
        common=common,
        resamples=resamples,
        executor=HERE,
    )
    return CaptionScores(
        scores=summary["scores"],
        intervals=summary["intervals"],
        per_video=found.per_video,
        spice=summary.get("spice", {}),
        provenance=summary["provenance"],
    )
