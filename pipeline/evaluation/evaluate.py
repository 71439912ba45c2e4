"""The stage `evaluate`: runs, or files of predictions, scored and shown."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, Executor, file_sha256, write_json
from pipeline.evaluation.bootstrap import RESAMPLES, intervals
from pipeline.evaluation.prediction_files import read_predictions
from pipeline.evaluation.record import as_record, remarks, spice_means
from pipeline.evaluation.references import read_references, same_videos
from pipeline.evaluation.run_scores import score_runs
from pipeline.evaluation.scorer import Scores
from pipeline.evaluation.scoring import score_all
from pipeline.evaluation.toolkit import MetricSettings
from pipeline.params import Evaluate, load_params, pick

METRICS = Path("metrics.json")


def evaluate_named_runs(names: Sequence[str], executor: Executor, console: Console) -> dict[str, Any]:

    params = load_params()
    for name in names:
        if not (Path("predictions") / f"{name}.json").is_file():  # an ensemble or a fusion is no entry of params.yaml
            pick(params.train, name, kind="run")
    summaries = evaluate_runs(names, params=params.evaluate, executor=executor, console=console)
    return summaries[names[0]] if len(names) == 1 else {"runs": summaries}


def evaluate_files(args: argparse.Namespace, executor: Executor, console: Console) -> dict[str, Any]:

    scores, facts = _scored_files(args, executor)
    summary = _summary(scores, facts, resamples=args.resamples)
    write_json(args.out or METRICS, as_record(scores) | summary)
    name = args.predictions.name
    _show(console, {name: scores.corpus}, {name: summary["intervals"]})
    for line in facts["remarks"]:
        console.say(line)
    console.say(f"{args.out or METRICS}: {facts['videos']} videos, split {facts['split']}")
    return summary


def _scored_files(args: argparse.Namespace, executor: Executor) -> tuple[Scores, dict[str, Any]]:
    """The scores, and what is to be known of them: files, split, remarks."""

    stated, said = read_predictions(args.predictions)
    known = read_references(args.references)
    sets, references, left_out = same_videos({"": said}, known, split=args.split, common=args.common)
    settings = MetricSettings(tokenizer=args.tokenizer or "ptb", meteor=not args.no_meteor, spice=not args.no_spice)
    scores = score_all(settings, sets, references.captions, executor=executor)[""]
    told = [*left_out, *remarks(sets[""], references.captions), *scores.provenance.get("remarks", [])]
    files = {str(path): file_sha256(path) for path in (args.predictions, args.references) if path.is_file()}
    split = references.split or stated or "not stated"
    return scores, scores.provenance | {"split": split, "files": files, "remarks": told}


def _summary(scores: Scores, facts: dict[str, Any], *, resamples: int | None) -> dict[str, Any]:

    ends = intervals(scores.statistics, resamples=RESAMPLES if resamples is None else resamples)
    kinds = spice_means(scores)
    return {"scores": scores.corpus, "intervals": ends, "provenance": facts} | ({"spice": kinds} if kinds else {})


def evaluate_runs(
    names: Sequence[str], *, params: Evaluate, executor: Executor, console: Console
) -> dict[str, dict[str, Any]]:
    """predictions/RUN.json against data/captions; each run's files are there as soon as it is scored."""

    found: dict[str, dict[str, Any]] = {}
    told: dict[str, None] = {}
    with console.progress("evaluate", len(names)) as progress:
        for scored in score_runs(names, params=params, executor=executor):
            found[scored.summary["run"]] = scored.summary
            told |= dict.fromkeys(scored.remarks)
            progress.advance(note=scored.summary["run"])
    columns = {name: found[name]["scores"] for name in names}
    baseline = {"most frequent caption": found[names[0]]["most_frequent_caption"]}
    _show(console, columns | baseline, {name: found[name]["intervals"] for name in names})
    for line in told:
        console.say(line)
    return {name: found[name] for name in names}


def _show(
    console: Console,
    columns: Mapping[str, Mapping[str, float]],
    intervals: Mapping[str, Mapping[str, tuple[float, float]]],
) -> None:
    """A row a metric, and beside each column the intervals that it has."""
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
