"""Runs that differ only by seed, as one row of means and spreads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from pipeline.report.results import ReportedRun
from pipeline.runs import common_name, groups_of_seeds


@dataclass(frozen=True)
class SeedRow:
    name: str
    runs: list[str]
    scores: dict[str, tuple[float, float]]  # metric -> mean, standard deviation


def seed_rows(runs: Sequence[ReportedRun], *, metrics: Sequence[str]) -> list[SeedRow]:
    by_name = {run.name: run.scores.scores for run in runs}
    groups = groups_of_seeds({run.name: run.record for run in runs})
    return [SeedRow(common_name(names), names, _over([by_name[name] for name in names], metrics)) for names in groups]


def _over(scores: Sequence[dict[str, float]], metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
    found = {metric: [one[metric] for one in scores if metric in one] for metric in metrics}
    return {metric: (mean(values), stdev(values)) for metric, values in found.items() if len(values) > 1}
