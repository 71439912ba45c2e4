"""Reading what other stages wrote: what is missing is named, what is malformed stops with the next command."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.errors import DamageError, InputError
from pipeline.core.sealed_file import write_sealed_json
from pipeline.report.results import Sources, curves_of, metric_names, read_runs


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
    ("value", "expected"),
    [
        ({"split": "test"}, "malformed at 'predictions'"),
        ({"predictions": {"v": {"caption": 3}}}, "malformed at 'predictions.v.caption'"),
    ],
    ids=["key missing", "wrong type"],
)
def test_malformed_predictions_say_where(project: Sources, value: dict[str, Any], expected: str) -> None:
    write_sealed_json(project.predictions / "attention.json", value)

    with pytest.raises(InputError, match=expected) as caught:
        read_runs(["attention"], sources=project)

    assert "attention.json" in caught.value.message
    assert "caption@attention" in caught.value.hint


@pytest.mark.parametrize("name", ["predictions/attention.json", "metrics/attention/scores.json"])
def test_half_a_file_says_what_makes_it(project: Sources, name: str) -> None:
    (project.runs.parent / name).write_text("{half")

    with pytest.raises(DamageError, match=f"{name} has no checksum") as caught:
        read_runs(["attention"], sources=project)

    assert "@attention" in caught.value.hint


def test_a_learning_curve_is_shown_only_as_the_run_recorded_it(project: Sources) -> None:
    curves = project.metrics / "attention/curves.csv"
    curves.write_text(curves.read_text().replace("1", "7", 1))

    with pytest.raises(DamageError, match=r"curves.csv is not the learning curve of attention[\s\S]*train@attention"):
        read_runs(["attention"], sources=project)


def test_curves_leave_out_cells_that_are_no_numbers() -> None:
    text = "epoch,train_loss,val_cider\n1,3.5,\n2,nan,0.25\n3,2.5,0.5\n"

    assert curves_of(text) == {"train_loss": [(1, 3.5), (3, 2.5)], "val_cider": [(2, 0.25), (3, 0.5)]}


def test_metrics_have_the_usual_order_then_others_by_name() -> None:
    tables = [{"CIDEr-D": 1.0, "zeta": 0.0}, {"BLEU-4": 0.1, "METEOR": 0.2, "alpha": 0.0}]

    assert metric_names(tables) == ["BLEU-4", "METEOR", "CIDEr-D", "alpha", "zeta"]
