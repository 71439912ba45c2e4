"""Features that others made, in one npz, in an empty folder: the commands of docs/real-language.md."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.project_copy import Repository

pytestmark = pytest.mark.slow
VIDEOS = [f"vid{number}" for number in range(1, 11)]
SLOTS = dict.fromkeys(("appearance", "motion", "regions", "sound", "label"), "none")


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    features = np.random.default_rng(0).normal(size=(len(VIDEOS), 4, 16)).astype(np.float32)
    np.savez(tmp_path / "FEATURES.npz", ids=np.array(VIDEOS), feat=features)
    with (tmp_path / "captions.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["video", "caption"], *([id_, "a dog runs"] for id_ in VIDEOS)])
    options = {"hidden_size": 8, "word_size": 4}
    run = {"model": "mean_pool", "features": SLOTS | {"appearance": "vgg16"}, "epochs": 2, "options": options}
    dataset = {"name": "folder", "videos": "none", "annotations": "captions.csv", "subset": {}}
    (tmp_path / "params.yaml").write_text(json.dumps({"dataset": dataset, "extract": {}, "train": {"own": run}}))
    return Repository(tmp_path)


def test_imported_features_become_captions_and_a_raw_video_is_refused(
    project: Repository,
) -> None:
    command = ("store", "import", "FEATURES.npz", "vgg16", "--tensor", "pool", "--standardize", "--scale", "0.5")
    project.run("framescribe", *command)
    project.run("framescribe", "assemble", "--store", "features/vgg16")
    for stage in ("train", "caption", "evaluate"):
        project.run("framescribe", stage, "own")
    (project.folder / "clip.mp4").write_bytes(b"never opened")
    refused = project.start("framescribe", "caption", "clip.mp4", "--run", "own")
    _, told = refused.communicate()

    predictions = json.loads((project.folder / "predictions/own.json").read_text())["predictions"]
    assert set(predictions) < set(VIDEOS)
    assert refused.returncode == 2
    assert "'own' was trained on imported features (vgg16), which nothing here can make of a video" in told
