"""What the page says about how sure a score is: intervals in its cells, means and spreads over seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.core.metric_names import FEWEST_VIDEOS
from pipeline.core.sealed_file import write_sealed_json
from pipeline.report.page import page_environment, page_metrics, score_rows, slice_rows
from pipeline.report.results import ReportedRun, Sources, read_runs
from pipeline.report.seed_rows import seed_rows

from .test_page import build, edit

INTERVALS = {"CIDEr-D": [1.6361, 1.9304]}


def runs_of(project: Sources) -> list[ReportedRun]:
    return read_runs(["attention", "mean_pool"], sources=project)[0]


def alike_but_seed(project: Sources) -> None:
    record = json.loads((project.runs / "attention/run.json").read_text())
    record["params"] = record["params"] | {"seed": 7}
    write_sealed_json(project.runs / "mean_pool/run.json", record | {"curves_sha256": None})


def test_a_score_has_its_interval(project: Sources, tmp_path: Path) -> None:
    edit(project.metrics / "mean_pool/scores.json", lambda value: value.pop("intervals", None))
    edit(project.metrics / "attention/scores.json", lambda value: value.update(intervals=INTERVALS))

    page = build(project, tmp_path / "report/index.html")

    assert "1.636 – 1.930" in page
    assert page.count("95 % interval </span>") == 1
    runs = runs_of(project)
    cells = dict(zip(page_metrics(runs), score_rows(runs)[0], strict=True))
    assert cells["CIDEr-D"].interval == (1.6361, 1.9304)
    assert cells["BLEU-4"].interval is None


def test_runs_that_differ_by_seed_are_one_row(project: Sources, tmp_path: Path) -> None:
    assert seed_rows(runs_of(project), metrics=["CIDEr-D"]) == []
    assert "Over seeds" not in build(project, tmp_path / "before/index.html")
    alike_but_seed(project)

    (row,) = seed_rows(runs_of(project), metrics=["CIDEr-D", "SPICE"])

    assert row.runs == ["attention", "mean_pool"]
    assert row.scores == {"CIDEr-D": (pytest.approx((1.728 + 1.32) / 2), pytest.approx(0.288500, abs=1e-6))}
    page = build(project, tmp_path / "after/index.html")
    assert "Over seeds" in page
    assert "1.524 ± 0.288" in page


def test_a_metric_that_one_seed_lacks_is_a_dash() -> None:
    template = page_environment().get_template("seeds.html")
    row = {"name": "lstm", "runs": ["a", "b"], "scores": {"CIDEr-D": (1.0, 0.5)}}

    page = template.render(seed_rows=[row], metrics=["CIDEr-D", "METEOR"], table_files={})

    assert "1.000 ± 0.500" in page
    assert "<td>–</td>" in page


def test_of_few_videos_the_page_tells_nothing(project: Sources, tmp_path: Path) -> None:
    for run in ("attention", "mean_pool"):
        edit(project.metrics / f"{run}/scores.json", lambda value: value.update(videos=FEWEST_VIDEOS - 1))

    page = build(project, tmp_path / "report/index.html")

    assert f"Nothing can be told from {FEWEST_VIDEOS - 1} test videos" in page
    assert "the best run is" not in page
    assert "95 % interval </span>" not in page
    assert not any(cell.best or cell.interval for row in score_rows(runs_of(project)) for cell in row)


def test_of_enough_videos_the_page_has_its_headline(project: Sources, tmp_path: Path) -> None:
    for run in ("attention", "mean_pool"):
        edit(project.metrics / f"{run}/scores.json", lambda value: value.update(videos=FEWEST_VIDEOS))

    page = build(project, tmp_path / "report/index.html")

    assert "the best run is" in page
    assert "95 % interval </span>" in page


def test_a_slice_of_few_videos_has_no_star(project: Sources) -> None:
    runs = runs_of(project)
    names = {name for run in runs for name in run.scores.slices}

    def stars(videos: int) -> bool:
        rows = slice_rows(runs, sizes=dict.fromkeys(names, videos))
        return any(cell.best for cells in rows.values() for cell in cells)

    assert names
    assert (stars(FEWEST_VIDEOS), stars(FEWEST_VIDEOS - 1)) == (True, False)


def test_a_run_of_few_videos_does_not_lead(project: Sources, tmp_path: Path) -> None:
    edit(project.metrics / "attention/scores.json", lambda value: value.update(videos=FEWEST_VIDEOS - 1))

    page = build(project, tmp_path / "report/index.html")

    assert "the best run is <strong>mean_pool</strong>" in page
