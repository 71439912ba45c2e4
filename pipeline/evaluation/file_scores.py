"""Files of predictions against files of references: scored, shown and written, without a project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core import Console, Executor, file_sha256, write_sealed_json
from pipeline.evaluation.bootstrap import RESAMPLES, intervals, too_few
from pipeline.evaluation.evaluate import say_remarks, show_scores
from pipeline.evaluation.prediction_files import read_predictions
from pipeline.evaluation.record import as_record, spice_means
from pipeline.evaluation.references import References, read_references, same_videos
from pipeline.evaluation.scorer import Scores
from pipeline.evaluation.scoring import score_all
from pipeline.evaluation.toolkit import MetricSettings

METRICS = Path("metrics.json")
NO_FILES: Mapping[str, str] = {}


def evaluate_files(
    predictions: Path,
    references: Path,
    *,
    settings: MetricSettings,
    split: str | None = None,
    common: bool = False,
    resamples: int = RESAMPLES,
    out: Path = METRICS,
    executor: Executor,
    console: Console,
) -> dict[str, Any]:
    """Any file of predictions against any file of references; all that is found is written to `out`."""
    files = [path for path in (predictions, references) if path.is_file()]
    stated, hypotheses = read_predictions(predictions)
    scores, summary = score_captions(
        hypotheses,
        read_references(references),
        settings=settings,
        split=split,
        stated=stated,
        common=common,
        resamples=resamples,
        files={str(path): file_sha256(path) for path in files},
        executor=executor,
    )
    facts = summary["provenance"]
    write_sealed_json(out, as_record(scores) | summary)
    show_scores(console, {predictions.name: scores.corpus}, {predictions.name: summary["intervals"]})
    few = too_few(facts["videos"])
    say_remarks(console, [*facts["remarks"], *([few] if few else [])])
    console.say(f"{out}: {facts['videos']} videos, split {facts['split']}")
    return summary


def score_captions(
    hypotheses: Mapping[str, str],
    references: References,
    *,
    settings: MetricSettings,
    split: str | None = None,
    stated: str | None = None,
    common: bool = False,
    resamples: int = RESAMPLES,
    files: Mapping[str, str] = NO_FILES,
    executor: Executor,
) -> tuple[Scores, dict[str, Any]]:
    """The scores, and what is told of them; `stated` is the split that the predictions say they are of."""
    sets, known, left_out = same_videos({"": hypotheses}, references, split=split, common=common)
    scores = score_all(settings, sets, known.captions, executor=executor)[""]
    facts = scores.provenance | {
        "split": known.split or stated or "not stated",
        "files": dict(files),
        "remarks": [*left_out, *scores.provenance.get("remarks", [])],
    }
    return scores, _summary(scores, facts, resamples=resamples)


def _summary(scores: Scores, facts: dict[str, Any], *, resamples: int) -> dict[str, Any]:
    ends = intervals(scores.statistics, resamples=resamples)
    kinds = spice_means(scores)
    return {"scores": scores.corpus, "intervals": ends, "provenance": facts} | ({"spice": kinds} if kinds else {})
