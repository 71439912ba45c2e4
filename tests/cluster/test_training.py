"""Several runs at once, on workers of a cluster: the same model, bit for bit, as one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.training.test_trainer import SETTINGS, make_project

PARAMS = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "extract": {}}


@pytest.mark.slow
def test_runs_trained_at_once_equal_runs_trained_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_project(tmp_path)
    runs = {f"seed{seed}": SETTINGS.model_dump() | {"epochs": 2, "seed": seed} for seed in (1, 2)}
    Path("params.yaml").write_text(json.dumps(PARAMS | {"train": runs}))
    Path("two.yaml").write_text("kind: node\nworkers: 2\ndevice: cpu\ndashboard: null\ntime_limit: 1 s\n")
    assert main(["train", "seed1", "seed2", "--profile", "two.yaml"]) == 0
    at_once = {name: Path(f"runs/{name}/model.safetensors").read_bytes() for name in runs}
    assert at_once["seed1"] != at_once["seed2"]
    for path in Path("cache").rglob("*"):  # nothing to resume from
        if path.is_file():
            path.unlink()
    assert main(["train", "seed1", "--out", "alone"]) == 0
    assert Path("alone/model.safetensors").read_bytes() == at_once["seed1"]
    assert main(["train", "seed1", "seed2", "--out", "x"]) == 2
