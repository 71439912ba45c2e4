"""The learning curves and the scores of all runs as two plain tables, for `dvc plots` and for anything else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline.core import write_text
from pipeline.report.results import ReportedRun, metric_names


def write_tables(folder: Path, runs: Sequence[ReportedRun]) -> None:
    write_text(folder / "curves.csv", _csv(("run", "epoch", "curve", "value"), _curves(runs)))
    write_text(folder / "scores.csv", _csv(("run", "metric", "score", "low", "high"), _scores(runs)))


def _curves(runs: Sequence[ReportedRun]) -> Iterable[tuple[object, ...]]:
    for run in runs:
        for curve, points in run.curves.items():
            yield from ((run.name, int(epoch), curve, value) for epoch, value in points)


def _scores(runs: Sequence[ReportedRun]) -> Iterable[tuple[object, ...]]:
    """A score without an interval is its own."""
    for metric in metric_names([run.scores.scores for run in runs]):
        for run in runs:
            if metric in run.scores.scores:
                score = run.scores.scores[metric]
                yield run.name, metric, score, *run.scores.intervals.get(metric, (score, score))


def _csv(columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
