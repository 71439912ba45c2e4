"""The papers' tables: published rows beside the runs that exist, what differs, and what makes the rest."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core.sealed_file import write_sealed_json
from pipeline.papers.recipes import Recipe, read_recipe
from pipeline.papers.tables import AS_PUBLISHED, Line, Made, paper_tables
from pipeline.params.dataset import Dataset
from pipeline.params.file import load_params
from pipeline.params.train import Train

ROOT = Path(__file__).parents[2]
G2L = read_recipe("g2l-msrvtt")
MSRVTT = Dataset(name="msrvtt", videos="v", annotations="a")
SCORES = {"BLEU-4": 0.4, "METEOR": 0.25, "ROUGE-L": 0.6, "CIDEr-D": 0.48}


def made(name: str, params: Train | None, *, split: str = "test", **record: Any) -> Made:
    facts = record | ({"params": params.model_dump()} if params else {})
    return Made(name=name, scores=SCORES, split=split, record=facts)


def lines(
    recipe: Recipe, runs: list[Made], *, dataset: Dataset = MSRVTT, planned: dict[str, Train] | None = None
) -> dict[str, Line]:
    table = paper_tables([recipe], runs, dataset=dataset, planned=planned or {})[0]
    return {line.row: line for line in table.lines}


def test_a_run_of_the_recipe_itself_stands_beside_its_row() -> None:
    line = lines(G2L, [made("g2l", G2L.train["g2l"])])["+ Local 2f"]

    assert line.published == ["42.2", "28.6", "61.1", "50.3"]
    assert line.ours == ["40.0", "25.0", "60.0", "48.0"]
    assert line.remarks == [AS_PUBLISHED]


def test_what_differs_is_said() -> None:
    smaller = G2L.train["g2l"].model_copy(update={"epochs": 2, "learning_rate": 0.01, "then": []})
    run = made("g2l", smaller, split="val", features={"appearance": {"untrained": True}})
    demo = Dataset(name="demo", videos="v", annotations="a")

    remarks = lines(G2L, [run], dataset=demo)["+ Local 2f"].remarks

    assert "data set demo, not msrvtt" in remarks
    assert "scored on val, not test" in remarks
    assert "untrained features: appearance" in remarks
    assert "2 epochs, not 30" in remarks
    assert "learning_rate 0.01, not 0.0001" in remarks


def test_another_split_rule_is_said() -> None:
    recipe = read_recipe("dualafr-msrvtt")

    line = lines(recipe, [made("dualafr_soft", recipe.train["dualafr_soft"])])["Soft Attention (Single)"]

    assert line.remarks == ["split rule standard, not dualafr"]


def test_a_run_of_another_name_is_known_by_what_makes_the_row() -> None:
    mine = G2L.train["g2l_local3"].model_copy(update={"batch_size": 8})

    found = lines(G2L, [made("mine", mine)])

    assert {row for row, line in found.items() if line.ours} == {"+ Local 3f"}
    assert found["+ Local 3f"].run == "mine"
    assert found["+ Local 3f"].remarks == ["batch_size 8, not 64"]


def test_rows_that_differ_by_features_alone_are_known_by_name_only() -> None:
    recipe = read_recipe("stats-msrvtt")
    table = paper_tables([recipe], [made("mine", recipe.train["stats_i3d"])], dataset=MSRVTT, planned={})[2]

    assert not table.has_runs


def test_missing_rows_name_the_command() -> None:
    recipe = read_recipe("vatex-vatex")

    before, after = lines(recipe, []), lines(recipe, [], planned=dict(recipe.train))

    assert {line.remarks[0] for line in before.values()} == {"framescribe paper vatex-vatex"}
    assert after["vanilla"].remarks == ["dvc repro evaluate@vatex_vanilla"]
    assert after["temporal + spatial"].remarks[0].startswith("framescribe fuse vatex_temporal_rl vatex_spatial_rl && ")


def test_fractions_are_shown_in_percent() -> None:
    recipe = read_recipe("stats-msvd")

    assert lines(recipe, [])["STaTS, I3D"].published == ["80.2", "52.6", "69.5", "33.5"]


def test_a_record_of_another_version_costs_the_comparison_only() -> None:
    old = Made(name="g2l", scores=SCORES, split="test", record={"params": {"model": "g2l", "colour": "red"}})

    line = lines(G2L, [old])["+ Local 2f"]

    assert line.ours == ["40.0", "25.0", "60.0", "48.0"]
    assert line.remarks == ["made by another version: its settings cannot be compared"]


def test_the_terminal_prints_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    name, run = next((name, run) for name, run in load_params().train.items() if run.model == "mean_pool")
    for path, value in {
        f"metrics/{name}/scores.json": {"scores": SCORES},
        f"evaluation/{name}.json": {"provenance": {"split": "test"}},
        f"runs/{name}/run.json": {"params": run.model_dump()},
        f"predictions/{name}.json": {"predictions": {}},
    }.items():
        write_sealed_json(Path(path), value)
    Path("report").mkdir()
    Path("report/index.html").touch()

    assert main(["report", "--show"]) == 0

    shown = capsys.readouterr().out
    assert "VRE, Table 1: msrvtt, test split, percent" in shown
    assert "data set demo, not msrvtt" in shown
    assert "framescribe paper vre-msrvtt" in shown
    assert "papers without a run here: dualafr-msrvtt" in shown
