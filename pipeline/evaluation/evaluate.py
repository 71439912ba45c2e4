"""The stage `evaluate`: runs, or files of predictions, scored and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, Executor, file_sha256, write_json
from pipeline.evaluation.bootstrap import RESAMPLES, intervals
from pipeline.evaluation.prediction_files import read_predictions
from pipeline.evaluation.record import as_record, spice_means
from pipeline.evaluation.references import read_references, same_videos
from pipeline.evaluation.run_scores import score_runs
from pipeline.evaluation.scorer import Scores
from pipeline.evaluation.scoring import score_all
from pipeline.evaluation.toolkit import MetricSettings
from pipeline.params import Params, pick

METRICS = Path("metrics.json")


def evaluate_runs(
    names: Sequence[str], *, params: Params, executor: Executor, console: Console
) -> dict[str, dict[str, Any]]:
    """predictions/RUN.json against data/captions; each run's files are there as soon as it is scored."""
    for name in names:
        if not (Path("predictions") / f"{name}.json").is_file():  # an ensemble or a fusion is no entry of params.yaml
            pick(params.train, name, kind="run")
    found: dict[str, dict[str, Any]] = {}
    remarks: dict[str, None] = {}
    with console.progress("evaluate", len(names)) as progress:
        for scored in score_runs(names, params=params.evaluate, executor=executor):
            found[scored.summary["run"]] = scored.summary
            remarks |= dict.fromkeys(scored.remarks)
            progress.advance(note=scored.summary["run"])
    columns = {name: found[name]["scores"] for name in names}
    baseline = {"most frequent caption": found[names[0]]["most_frequent_caption"]}
    _show(console, columns | baseline, {name: found[name]["intervals"] for name in names})
    for line in remarks:
        console.say(line)
    return {name: found[name] for name in names}


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
    sets, known, left_out = same_videos({"": hypotheses}, read_references(references), split=split, common=common)
    scores = score_all(settings, sets, known.captions, executor=executor)[""]
    facts = scores.provenance | {
        "split": known.split or stated or "not stated",
        "files": {str(path): file_sha256(path) for path in files},
        "remarks": [*left_out, *scores.provenance.get("remarks", [])],
    }
    summary = _summary(scores, facts, resamples=resamples)
    write_json(out, as_record(scores) | summary)
    _show(console, {predictions.name: scores.corpus}, {predictions.name: summary["intervals"]})
    for line in facts["remarks"]:
        console.say(line)
    console.say(f"{out}: {facts['videos']} videos, split {facts['split']}")
    return summary


def _summary(scores: Scores, facts: dict[str, Any], *, resamples: int) -> dict[str, Any]:
    ends = intervals(scores.statistics, resamples=resamples)
    kinds = spice_means(scores)
    return {"scores": scores.corpus, "intervals": ends, "provenance": facts} | ({"spice": kinds} if kinds else {})


def _show(
    console: Console,
    columns: Mapping[str, Mapping[str, float]],
    intervals: Mapping[str, Mapping[str, tuple[float, float]]],
) -> None:
    """One row per metric; beside each column the intervals that it has."""
    metrics = next(iter(columns.values()))
    header: list[str] = ["metric"]
    rows: list[list[Any]] = [[metric] for metric in metrics]
    for name, scores in columns.items():
        header.append(name)
        for row in rows:
            row.append(scores.get(row[0], "-"))
        if name in intervals:
            header.append("95 % interval")
            for row in rows:
                row.append(_interval(intervals[name].get(row[0])))
    console.table(header, rows)


def _interval(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"
