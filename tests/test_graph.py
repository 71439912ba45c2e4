"""Real DVC in a temporary clone: nothing runs twice, a change runs its own branch, a former value comes from cache."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.project_copy import Repository, copy_project

ROOT = Path(__file__).parent.parent
BRANCH = ("extract", "train", "caption", "evaluate")
STEPS = ("weights", *BRANCH)

PARAMS: dict[str, Any] = {
    "dataset": {"name": "demo", "videos": "data/demo/videos", "annotations": "data/demo/annotations.json"},
    "decode": {"max_failed": 0},
    "extract": {
        name: {
            "family": "frames",
            "network": "mobilenet_v2",
            "weights": "random",
            "sampling": {"count": count},
            "outputs": ["pool"],
        }
        for name, count in (("a", 2), ("b", 3))
    },
    "assemble": {"min_count": 1, "max_words": 20},
    "train": {
        name: {
            "model": model,
            "features": {"appearance": name, "motion": "none", "regions": "none", "sound": "none", "label": "none"},
            "start_from": "none",
            "word_vectors": "weights/words/none.txt",
            "options": {"hidden_size": 16},
            "epochs": 1,
        }
        for name, model in (("a", "mean_pool"), ("b", "soft_attention"))
    },
    "caption": {"beam": 2, "max_words": 20},
    "evaluate": {"meteor": False},
    "report": {"examples": 2},
}


class Clone(Repository):
    """A copy of the tracked files as a repository of its own, with a dozen demo clips and untrained features."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        copy_project(folder)
        self.write_params(PARAMS)
        self.run("framescribe", "demo-data", "--clips", "12", "--quiet")
        self.commit()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone(tmp_path_factory.mktemp("clone"))
    ran, _ = clone.repro()
    assert ran == {"decode", "assemble", "report", *(f"{stage}@{name}" for stage in STEPS for name in "ab")}
    clone.commit()
    return clone


def test_the_graph_ends_in_a_report_that_says_untrained(clone: Clone) -> None:
    assert "untrained" in (clone.folder / "report/index.html").read_text()


def test_dvc_keeps_no_second_copy_of_the_features(clone: Clone) -> None:
    shards = list((clone.folder / "features/a").glob("*.safetensors"))

    assert shards
    assert all(shard.stat().st_nlink == 3 for shard in shards)  # features/, DVC's cache and ours name one file


def test_a_second_repro_does_nothing(clone: Clone) -> None:
    assert "Data and pipelines are up to date." in clone.run("dvc", "repro")


def test_a_changed_extractor_runs_its_branch_only_and_a_restored_one_computes_nothing(clone: Clone) -> None:
    changed = json.loads(json.dumps(PARAMS))
    changed["extract"]["a"]["sampling"]["count"] = 4
    before = (clone.folder / "features/a/store.json").read_bytes()
    clone.write_params(changed)
    ran, _ = clone.repro()
    assert ran == {*(f"{stage}@a" for stage in BRANCH), "report"}
    assert (clone.folder / "features/a/store.json").read_bytes() != before

    clone.write_params(PARAMS)
    ran, cached = clone.repro()

    assert ran == set()
    assert cached >= {*(f"{stage}@a" for stage in BRANCH), "report"}
    assert (clone.folder / "features/a/store.json").read_bytes() == before


def test_params_edited_after_the_first_epoch_end_the_stage_and_the_next_repro_is_right(clone: Clone) -> None:
    """DVC would record the new learning rate for a run that was trained with the old one."""
    long, edited = (json.loads(json.dumps(PARAMS)) for _ in range(2))
    long["train"]["a"] |= {"epochs": 100, "patience": 100, "learning_rate": 0.001}
    edited["train"]["a"] |= {"epochs": 2, "learning_rate": 0.01}
    clone.write_params(long)
    training = clone.start("dvc", "repro", "train@a")
    kept = clone.folder / ".cache/framescribe/training"
    while not list(kept.glob("*/progress.json")) and training.poll() is None:
        time.sleep(0.01)
    clone.write_params(edited)
    _, told = training.communicate()

    assert training.returncode != 0
    assert "train.a.learning_rate in params.yaml: 0.001 -> 0.01" in told
    assert "nothing was published" in told
    assert "train@a" in json.loads(clone.run("dvc", "status", "--json", "train@a"))
    clone.run("dvc", "repro", "train@a")
    locked = YAML(typ="safe").load((clone.folder / "dvc.lock").read_text())["stages"]["train@a"]["params"]
    record = json.loads((clone.folder / "runs/a/run.json").read_text())
    assert locked["params.yaml"]["train.a"]["learning_rate"] == record["params"]["learning_rate"] == 0.01
    assert json.loads(clone.run("dvc", "status", "--json", "train@a")) == {}

    clone.write_params(PARAMS)
    assert clone.repro()[0] == set()


def test_a_part_that_models_share_runs_training_again(clone: Clone) -> None:
    """Two papers share models/parts/top_down.py; no run names it."""
    shared = clone.folder / "models/parts/top_down.py"
    text = shared.read_text()
    shared.write_text(text + "\n# edited\n")
    try:
        changed = json.loads(clone.run("dvc", "status", "--json", "train@a", "train@b"))
    finally:
        shared.write_text(text)

    assert {"train@a", "train@b"} <= set(changed)
    assert json.loads(clone.run("dvc", "status", "--json", "train@a", "train@b")) == {}


def test_metrics_and_plots_are_useful(clone: Clone) -> None:
    shown = json.loads(clone.run("dvc", "metrics", "show", "--json"))[""]["data"]
    scores = shown["metrics/a/scores.json"]["data"]
    assert {"BLEU-4", "ROUGE-L", "CIDEr-D"} <= set(scores["scores"])

    clone.run("dvc", "plots", "show", "--out", "plots")
    assert "val_cider" in (clone.folder / "plots/index.html").read_text()


def test_a_change_shows_in_metrics_and_plots_as_a_difference(clone: Clone) -> None:
    """Scores and tables as another beam could have left them; the templates are those of .dvc/plots."""
    scores, table = clone.folder / "metrics/a/scores.json", clone.folder / "tables/scores.csv"
    before = scores.read_bytes(), table.read_bytes()
    value = json.loads(before[0])
    value["scores"]["CIDEr-D"] += 0.25
    scores.write_text(json.dumps(value))
    table.write_text(before[1].decode() + "b,CIDEr-D,9.5,9.25,9.75\n")

    changed = json.loads(clone.run("dvc", "metrics", "diff", "--json"))
    plots = json.loads(clone.run("dvc", "plots", "diff", "--json", "--split"))["data"]

    scores.write_bytes(before[0])
    table.write_bytes(before[1])
    ((file, numbers),) = changed.items()
    assert (file, list(numbers)) == ("metrics/a/scores.json", ["scores.CIDEr-D"])
    assert numbers["scores.CIDEr-D"]["diff"] == pytest.approx(0.25)
    (shown,) = plots["tables/scores.csv"]
    assert "9.75" in json.dumps(shown)
    assert set(shown["revisions"]) == {"HEAD", "workspace"}
    assert '"x2"' in json.dumps(shown["content"])  # the template that draws intervals, not DVC's own
    assert '"strokeDash"' in json.dumps(plots["tables/curves.csv"])


def test_an_experiment_changes_one_value(clone: Clone) -> None:
    clone.run("dvc", "exp", "run", "--set-param", "caption.beam=1", "--name", "greedy")

    table = json.loads(clone.run("dvc", "exp", "show", "--json"))
    assert "greedy" in json.dumps(table)


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        ("look_into_a_store.py", ["features/a"], "untrained: True"),
        ("caption_with_a_run.py", ["runs/b"], "log probability"),
        ("compare_two_runs.py", ["a", "b"], "CIDEr-D"),
    ],
)
def test_the_examples_run(clone: Clone, script: str, arguments: list[str], expected: str) -> None:
    assert expected in clone.run(sys.executable, f"examples/{script}", *arguments)


@pytest.mark.parametrize("target", [[], ["evaluate@a"]], ids=["everything", "one run"])
def test_missing_weights_are_told_in_our_words_before_anything_else_runs(clone: Clone, target: list[str]) -> None:
    wanting = json.loads(json.dumps(PARAMS))
    wanting["extract"]["a"]["weights"] = "mobilenet_v2"
    wanting["decode"]["max_failed"] = 1  # decode would run again
    clone.write_params(wanting)
    repro = clone.start("dvc", "repro", *target)
    said, told = repro.communicate()
    clone.write_params(PARAMS)

    assert repro.returncode != 0
    assert "the weights 'mobilenet_v2' are missing" in told
    assert "next: framescribe weights fetch mobilenet_v2" in told
    assert "Errno" not in told
    assert re.findall(r"Running stage '(.+?)'", said) == ["weights@a"]


def test_missing_weights_of_one_extractor_stop_no_other(clone: Clone) -> None:
    wanting = json.loads(json.dumps(PARAMS))
    wanting["extract"]["a"]["weights"] = "mobilenet_v2"
    clone.write_params(wanting)
    try:
        clone.run("dvc", "repro", "evaluate@b")
    finally:
        clone.write_params(PARAMS)


def test_weights_that_came_or_went_compute_nothing_again(clone: Clone) -> None:
    clone.repro()
    other = clone.folder / "weights/other.safetensors"
    other.write_text("of another extractor")
    try:
        ran, cached = clone.repro()
    finally:
        other.unlink()

    assert ran | cached == {"weights@a", "weights@b"}  # they look, and find the same
