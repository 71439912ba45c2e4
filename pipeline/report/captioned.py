"""The page of `framescribe caption VIDEO...`: frames, the sentence, and where each word looked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pipeline.own_videos import Captioned
from pipeline.report.clips import build_clip
from pipeline.report.library import read_film
from pipeline.report.page import page_environment, source_of
from pipeline.report.results import HEADLINE, Captions, Evaluation, Prediction, Predictions, Run, Scores


def render(captioned: Captioned, *, dataset: str) -> str:
    environment = page_environment()
    run = _run(captioned)
    nothing = Captions(splits={}, captions={})
    films = {video: read_film(video, index=captioned.index) for video in captioned.said}
    return environment.get_template("captioned.html").render(
        runs=[run],
        clips=[build_clip(video, runs=[run], captions=nothing, film=film) for video, film in films.items()],
        refused=captioned.refused,
        trained_on=trained_on(captioned.record, dataset=dataset),
        headline=HEADLINE,
        style=source_of(environment, "style.css"),
    )


def trained_on(record: dict[str, Any], *, dataset: str) -> str:
    """So that nobody takes a demo's words for the truth about their video."""
    words = len(record["vocabulary"]) - 4  # without the special ones
    untrained = sorted({facts["store"] for facts in record["features"].values() if facts["untrained"]})
    told = f"Trained on {dataset}: it knows {words} words and can say nothing else."
    return f"{told} Untrained features: {', '.join(untrained)}." if untrained else told


def _run(captioned: Captioned) -> Run:
    said = {video: Prediction.model_validate(asdict(each)) for video, each in captioned.said.items()}
    return Run(
        name=captioned.record["run"],
        scores=Scores(scores={}),
        answers=Predictions(split="own", predictions=said),
        evaluation=Evaluation(),
        curves={},
        record=captioned.record,
    )
