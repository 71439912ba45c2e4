"""The page of `framescribe caption VIDEO...`: frames, the caption and its attention per word, all in one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.captioning import Captioned
from pipeline.predictions import without_attention
from pipeline.report.browser import contents, script_json, whole_entry
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
    return environment.get_template("captioned.html").render(
        run=captioned.record["run"],
        count=len(captioned.captions),
        refused=captioned.refused,
        unlike={id_: each.told() for id_, each in captioned.likeness.items() if each.unlike},
        trained_on=trained_on(captioned.record, dataset=dataset),
        inside=script_json(captioned_contents([captioned])),
        runs=[],
        clip_slices=[],
        folder="",
        style=source_of(environment, "style.css"),
        **scripts_of(environment),
    )


def captioned_contents(captioned: Sequence[Captioned]) -> dict[str, Any]:
    """What the browser shows of the same videos, captioned by one run or by several."""
    runs, nothing = [_run(each) for each in captioned], Captions(splits={}, captions={})
    videos = dict.fromkeys(video for each in captioned for video in each.captions)
    entries = [whole_entry(video, runs=runs, captions=nothing, index=captioned[0].index) for video in videos]
    return contents(entries, runs=runs, metrics=[])


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
