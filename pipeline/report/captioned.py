"""The page of `framescribe caption VIDEO...`: frames, the caption and its attention per word, all in one file."""

from __future__ import annotations

from typing import Any

from pipeline.captioning import Captioned
from pipeline.predictions import without_attention
from pipeline.report.browser import inside, whole_entry
from pipeline.report.page import page_environment, scripts_of, source_of
from pipeline.report.results import (
    Captions,
    PredictionEntry,
    PredictionFile,
    ReportedEvaluation,
    ReportedRun,
    ReportedScores,
)


def render(captioned: Captioned, *, dataset: str) -> str:
    environment = page_environment()
    run = _run(captioned)
    nothing = Captions(splits={}, captions={})
    entries = [whole_entry(video, runs=[run], captions=nothing, index=captioned.index) for video in captioned.captions]
    return environment.get_template("captioned.html").render(
        run=run.name,
        count=len(entries),
        refused=captioned.refused,
        unlike={id_: each.told() for id_, each in captioned.likeness.items() if each.unlike},
        trained_on=trained_on(captioned.record, dataset=dataset),
        inside=inside(entries, runs=[run]),
        runs=[],
        clip_slices=[],
        folder="",
        style=source_of(environment, "style.css"),
        **scripts_of(environment),
    )


def trained_on(record: dict[str, Any], *, dataset: str) -> str:
    """What limits the captions, so that a demo's are not taken for more than they are."""
    words = len(record["vocabulary"]) - 4  # without the special ones
    untrained = sorted({facts["store"] for facts in record["features"].values() if facts["untrained"]})
    told = f"Trained on {dataset}: it knows {words} words and can say nothing else."
    return f"{told} Untrained features: {', '.join(untrained)}." if untrained else told


def _run(captioned: Captioned) -> ReportedRun:
    said = {
        video: PredictionEntry.model_validate(each) for video, each in without_attention(captioned.captions).items()
    }
    return ReportedRun(
        name=captioned.record["run"],
        scores=ReportedScores(scores={}),
        answers=PredictionFile(split="own", looks=captioned.facts, predictions=said),
        evaluation=ReportedEvaluation(),
        curves={},
        record=captioned.record,
        looks=captioned.attention,
    )
