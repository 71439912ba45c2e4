"""The learning curves and the scores of all runs as two plain tables, for `dvc plots` and for anything else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline.core import write_text
from pipeline.report.results import ReportedRun, metric_names


def write_tables(folder: Path, runs: Sequence[ReportedRun]) -> None:
    write_text(folder / "curves.csv", csv_text(("run", "epoch", "curve", "value"), _curves(runs)))
    write_text(folder / "scores.csv", csv_text(("run", "metric", "score", "low", "high"), _scores(runs)))


def _curves(runs: Sequence[ReportedRun]) -> Iterable[tuple[object, ...]]:
    for run in runs:
        for curve, points in run.curves.items():
            yield from ((run.name, int(epoch), curve, value) for epoch, value in points)


def _scores(runs: Sequence[ReportedRun]) -> Iterable[tuple[object, ...]]:
    """A score without an interval has empty cells."""
    for metric in metric_names([run.scores.scores for run in runs]):
        for run in runs:
            if metric in run.scores.scores:
                yield run.name, metric, run.scores.scores[metric], *run.intervals.get(metric, ("", ""))


def csv_text(columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
