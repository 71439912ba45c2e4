"""Every recipe runs: raw clips in its data set's own format, real `dvc repro`, every row of its tables, the report.

Networks are untrained, so no score means anything. With `FRAMESCRIBE_RECIPES=docs/results/recipes.json` the test keeps
there what each recipe ran; the table of docs/papers.md is made of that file.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from csv import DictReader
from pathlib import Path
from typing import Any

import pytest

from pipeline.papers.recipes import known_recipes
from tests.papers.rehearsal import Rehearsal, rehearse

ROOT = Path(__file__).parents[2]
COLUMNS = ("rows", "fusions and ensembles", "training stages with rewards", "seconds")
QUICK = "g2l-msvd"  # one run of three extractors
EVERY = [pytest.param(name, marks=[] if name == QUICK else pytest.mark.slow) for name in known_recipes()]


@pytest.mark.timeout(5400)
@pytest.mark.parametrize("name", EVERY)
def test_a_recipe_runs_from_raw_clips_to_the_report(name: str, tmp_path: Path) -> None:
    rehearsal = rehearse(name, tmp_path)

    _every_stage_ran(rehearsal)
    _every_training_stage_had_its_epoch(rehearsal)
    _every_row_has_scores(rehearsal)
    page = (tmp_path / "report/index.html").read_text()
    assert all(row.run in page for _, row, _ in rehearsal.rows)
    assert "untrained" in page
    _keep(rehearsal)


def test_the_table_of_the_docs_is_what_the_test_kept() -> None:
    kept = json.loads((ROOT / "docs/results/recipes.json").read_text())

    assert _table(kept) in (ROOT / "docs/papers.md").read_text()
    assert set(kept) <= set(known_recipes())


def _table(kept: Mapping[str, Any]) -> str:
    lines = [
        "| recipe | stages run | rows made | of them fused or ensembles | training stages with rewards | seconds |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for name in known_recipes():
        facts = kept.get(name)
        stages = facts and ", ".join(f"{count} {step}" for step, count in facts["stages"].items())
        cells = [stages, *(facts[key] for key in COLUMNS)] if facts else ["not recorded", *["-"] * len(COLUMNS)]
        lines.append(f"| `{name}` | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _every_stage_ran(rehearsal: Rehearsal) -> None:
    runs, extractors = rehearsal.recipe.train, rehearsal.recipe.extract
    steps = {"weights": extractors, "extract": extractors, "train": runs, "caption": runs, "evaluate": runs}
    expected = {f"{step}@{each}" for step, entries in steps.items() for each in entries}
    assert sorted(rehearsal.stages) == sorted({*expected, "decode", "assemble", "report"})


def _every_training_stage_had_its_epoch(rehearsal: Rehearsal) -> None:
    """Those with rewards say which reward they got."""
    for run, train in rehearsal.recipe.train.items():
        with (rehearsal.folder / f"metrics/{run}/curves.csv").open() as stream:
            epochs = list(DictReader(stream))
        assert len(epochs) == len(train.stages), run
        for epoch, stage in zip(epochs, train.stages, strict=True):
            assert math.isfinite(float(epoch["train_loss"])), run
            assert bool(epoch.get("reward")) == bool(stage.rewards), run


def _every_row_has_scores(rehearsal: Rehearsal) -> None:
    videos = 1 if rehearsal.recipe.caption.split == "val" else 2
    for table, row, metrics in rehearsal.rows:
        scores = rehearsal.scores(row.run)
        assert scores["videos"] == videos, (table, row.row)
        assert all(math.isfinite(scores["scores"][metric]) for metric in metrics), (table, row.row)


def _keep(rehearsal: Rehearsal) -> None:
    path = Path(os.environ.get("FRAMESCRIBE_RECIPES") or rehearsal.folder / "recipes.json")
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(kept | {rehearsal.recipe.name: rehearsal.facts}, indent=1, sort_keys=True) + "\n")
