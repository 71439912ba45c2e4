"""The tables that `dvc plots` draws."""

from __future__ import annotations

import csv
from pathlib import Path

from pipeline.core.metric_names import FEWEST_VIDEOS
from pipeline.report.csv_tables import write_tables
from pipeline.report.results import Sources, read_runs

from .test_page import edit


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_all_runs_are_in_both_tables(project: Sources, tmp_path: Path) -> None:
    edit(project.metrics / "mean_pool/scores.json", lambda value: value.pop("intervals", None))
    edit(project.metrics / "attention/scores.json", lambda value: value.update(intervals={"CIDEr-D": [1.5, 2.0]}))
    runs, _ = read_runs(["attention", "mean_pool"], sources=project)

    write_tables(tmp_path / "tables", runs)

    scores = {(row["run"], row["metric"]): row for row in rows(tmp_path / "tables/scores.csv")}
    assert len(scores) == 14
    sure, unsure = scores["attention", "CIDEr-D"], scores["mean_pool", "CIDEr-D"]
    assert (sure["score"], sure["low"], sure["high"]) == ("1.728", "1.5", "2.0")
    assert (unsure["low"], unsure["high"]) == ("", "")
    curves = rows(tmp_path / "tables/curves.csv")
    assert {row["curve"] for row in curves} == {"train_loss", "val_cider"}
    assert len(curves) == 2 * 2 * 12
    assert curves[0] == {"run": "attention", "epoch": "1", "curve": "train_loss", "value": curves[0]["value"]}


def test_of_few_videos_no_interval_is_written(project: Sources, tmp_path: Path) -> None:
    edit(project.metrics / "attention/scores.json", lambda value: value.update(videos=FEWEST_VIDEOS - 1))
    runs, _ = read_runs(["attention", "mean_pool"], sources=project)

    write_tables(tmp_path / "tables", runs)

    ends: dict[str, set[str]] = {run: set() for run in ("attention", "mean_pool")}
    for row in rows(tmp_path / "tables/scores.csv"):
        ends[row["run"]] |= {row["low"], row["high"]}
    assert ends["attention"] == {""}
    assert "" not in ends["mean_pool"]
