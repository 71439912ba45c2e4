"""Columns of one table on several splits: each takes the run that was captioned and scored on its own."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from pipeline.papers.differing import Made
from pipeline.papers.recipes import Recipe
from pipeline.papers.tables import AS_PUBLISHED, PaperTable, paper_tables
from pipeline.params.file import load_params
from pipeline.report.paper_tables import runs_shown

from .test_tables import FUSED, FUSED_ROW, ROOT, VATEX, here_of, made

TEMPORAL, FUSION = "vatex_temporal", "vatex_temporal_rl-or-vatex_spatial_rl"
TEMPORAL_ROW = "temporal attention"


def on(split: str, run: str, members: list[str] | None = None) -> Made:
    """As `caption RUN --split SPLIT`, `fuse` and `evaluate` leave it."""
    scored = made(VATEX, run, members, split=split)
    origin = deepcopy(dict(scored.origin))
    if "candidates" in origin:
        origin["candidates"] = {f"{name}@{split}": each for name, each in origin["candidates"].items()}
    return replace(scored, name=f"{run}@{split}", origin=origin)


def tables(runs: list[Made], recipe: Recipe = VATEX) -> dict[str, PaperTable]:
    found = paper_tables([recipe], runs, here=here_of(recipe), planned=dict(recipe.train))
    return dict(zip(("val", "test"), found, strict=True))


def line_of(table: PaperTable, row: str) -> tuple[str, list[str]]:
    (line,) = [line for line in table.lines if line.row == row]
    return line.run, line.remarks


@pytest.mark.parametrize(
    ("row", "run", "members"), [(TEMPORAL_ROW, TEMPORAL, None), (FUSED_ROW, FUSION, FUSED)], ids=["run", "fusion"]
)
def test_validation_and_test_stand_side_by_side(row: str, run: str, members: list[str] | None) -> None:
    found = tables([made(VATEX, run, members, split="val"), on("test", run, members)])

    assert line_of(found["val"], row) == (run, [AS_PUBLISHED])
    assert line_of(found["test"], row) == (f"{run}@test", [AS_PUBLISHED])


def test_the_split_that_was_scored_decides_and_not_the_name() -> None:
    found = tables([on("val", TEMPORAL), made(VATEX, TEMPORAL, split="test")])

    assert line_of(found["val"], TEMPORAL_ROW) == (f"{TEMPORAL}@val", [AS_PUBLISHED])
    assert line_of(found["test"], TEMPORAL_ROW) == (TEMPORAL, [AS_PUBLISHED])


def test_what_differs_on_one_split_is_told_there_alone() -> None:
    greedy = on("test", TEMPORAL)
    greedy = replace(greedy, origin=greedy.origin | {"settings": greedy.origin["settings"] | {"beam": 1}})

    found = tables([made(VATEX, TEMPORAL, split="val"), greedy])

    assert line_of(found["val"], TEMPORAL_ROW)[1] == [AS_PUBLISHED]
    assert line_of(found["test"], TEMPORAL_ROW)[1] == ["caption.beam 1, not 5"]


def test_a_run_of_one_split_names_the_commands_of_the_other() -> None:
    found = tables([made(VATEX, TEMPORAL, split="val"), made(VATEX, FUSION, FUSED, split="val")])["test"]

    assert line_of(found, TEMPORAL_ROW) == (
        "",
        [
            f"{TEMPORAL} was scored on val, not test: "
            f"framescribe caption {TEMPORAL} --split test && framescribe evaluate {TEMPORAL}@test"
        ],
    )
    assert line_of(found, FUSED_ROW)[1][0].endswith(
        "framescribe caption vatex_temporal_rl --split test && framescribe caption vatex_spatial_rl --split test"
        f" && framescribe fuse vatex_temporal_rl@test vatex_spatial_rl@test && framescribe evaluate {FUSION}@test"
    )


def test_a_row_that_nobody_made_names_the_commands_of_its_split() -> None:
    found = tables([])

    assert line_of(found["val"], TEMPORAL_ROW)[1] == [f"dvc repro evaluate@{TEMPORAL}"]
    assert line_of(found["test"], TEMPORAL_ROW)[1] == [
        f"dvc repro train@{TEMPORAL} && framescribe caption {TEMPORAL} --split test"
        f" && framescribe evaluate {TEMPORAL}@test"
    ]


def test_a_list_of_ids_is_no_split() -> None:
    listed = replace(on("test", TEMPORAL), name=f"{TEMPORAL}@missing")

    assert not tables([listed])["test"].has_runs


def test_a_run_of_another_name_is_known_on_its_own_split_too() -> None:
    """The members that captioned are runs, whatever their predictions are called."""
    run = on("test", "vatex_vanilla")
    facts = {"origin": run.origin | {"members": {"mine": "sha"}}, "records": {"mine": run.records["vatex_vanilla"]}}
    recipe = VATEX.model_copy(update={"tables": [VATEX.tables[0].model_copy(update={"split": "test"})]})

    (found,) = paper_tables([recipe], [replace(run, name="mine@test", **facts)], here=here_of(VATEX), planned={})

    assert line_of(found, "vanilla") == ("mine@test", [AS_PUBLISHED])


def test_the_report_looks_for_every_split_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    params = load_params(ROOT / "params.yaml")
    monkeypatch.setattr("pipeline.report.paper_tables.recipes_of", lambda _: [VATEX])

    shown = runs_shown(params)

    assert {FUSION, f"{FUSION}@val", f"{FUSION}@test"} <= set(shown)
    assert {f"{name}@test" for name in params.train} <= set(shown)
    assert len(shown) == len(set(shown))
