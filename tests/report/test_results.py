"""Reading what other stages wrote: what is missing is named, what is malformed stops with the next command."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.report.results import Sources, metric_names, read_curves, read_runs


def test_runs_come_in_the_order_of_params_and_missing_ones_name_their_command(project: Sources) -> None:
    found, missing = read_runs(["mean_pool", "later", "attention"], sources=project)

    assert [run.name for run in found] == ["mean_pool", "attention"]
    assert [(run.name, run.command) for run in missing] == [("later", "dvc repro evaluate@later")]


def test_a_run_with_predictions_and_scores_alone_is_enough(project: Sources) -> None:
    (project.evaluation / "attention.json").unlink()
    (project.runs / "attention/run.json").unlink()
    (project.metrics / "attention/curves.csv").unlink()

    (run,), _ = read_runs(["attention"], sources=project)

    assert run.curves == {}
    assert run.untrained == []
    assert run.evaluation.per_video == {}


def test_untrained_features_are_known_and_empty_slots_are_not_features(project: Sources) -> None:
    (attention, mean_pool), _ = read_runs(["attention", "mean_pool"], sources=project)

    assert attention.untrained == []
    assert mean_pool.untrained == ["appearance"]
    assert list(mean_pool.features) == ["appearance"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{half", "is not valid JSON"),
        ('{"split": "test"}', "malformed at 'predictions'"),
        ('{"predictions": {"v": {"caption": 3}}}', "malformed at 'predictions.v.caption'"),
    ],
    ids=["truncated", "key missing", "wrong type"],
)
def test_malformed_predictions_say_where(project: Sources, text: str, expected: str) -> None:
    (project.predictions / "attention.json").write_text(text)

    with pytest.raises(InputError, match=expected) as caught:
        read_runs(["attention"], sources=project)

    assert "attention.json" in caught.value.message
    assert "caption@attention" in caught.value.hint


def test_curves_leave_out_cells_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text("epoch,train_loss,val_cider\n1,3.5,\n2,nan,0.25\n3,2.5,0.5\n")

    assert read_curves(path) == {"train_loss": [(1, 3.5), (3, 2.5)], "val_cider": [(2, 0.25), (3, 0.5)]}


def test_metrics_have_the_usual_order_then_others_by_name() -> None:
    tables = [{"CIDEr-D": 1.0, "zeta": 0.0}, {"BLEU-4": 0.1, "METEOR": 0.2, "alpha": 0.0}]

    assert metric_names(tables) == ["BLEU-4", "METEOR", "CIDEr-D", "alpha", "zeta"]
