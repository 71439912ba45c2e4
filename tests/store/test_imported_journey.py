"""Features that a user brings: named so that models find them, trained from, and honest about raw videos."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.cli import main
from pipeline.core.sealed_file import write_sealed_json
from pipeline.doctor.foresight import check_plan
from pipeline.params.file import load_params
from pipeline.store import open_store

VIDEOS = [f"video{number}" for number in range(8)]
SLOTS = dict.fromkeys(("appearance", "motion", "regions", "sound", "label"), "none")
TRAIN = {"model": "mean_pool", "epochs": 1, "options": {"hidden_size": 8, "word_size": 4}}


def write_params(**train: object) -> None:
    runs = {"own": TRAIN | {"features": SLOTS | {"appearance": "mine"}} | train}
    dataset = {"name": "folder", "videos": "none", "annotations": "captions.csv", "subset": {}}
    Path("params.yaml").write_text(json.dumps({"dataset": dataset, "extract": {}, "train": runs}))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "cache")
    Path("given").mkdir()
    generator = np.random.default_rng(0)
    for id_ in VIDEOS:
        np.save(f"given/{id_}.npy", generator.normal(size=(4, 16)).astype(np.float32))
    Path("captions.csv").write_text("video,caption\n" + "".join(f"{id_},a dog runs\n" for id_ in VIDEOS))
    write_params()
    return tmp_path


def test_imported_features_train_and_caption_with_no_option(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "import", "given", "mine"]) == 0
    assert main(["assemble", "--store", "features/mine"]) == 0
    for command in ("train", "caption"):
        assert main([command, "own"]) == 0
    assert json.loads(Path("predictions/own.json").read_text())["predictions"]

    capsys.readouterr()
    Path("clip.mp4").write_bytes(b"never opened")
    assert main(["caption", "clip.mp4", "--run", "own"]) == 2
    told = capsys.readouterr().err
    assert "'own' was trained on imported features (mine), which nothing here can make of a video" in told
    assert "framescribe extract" in told
    assert "caption own --ids FILE" in told
    Path("some.txt").write_text("video1\n")
    assert main(["caption", "own", "--ids", "some.txt"]) == 0  # what the hint says


def test_a_run_that_could_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["store", "import", "given", "mine"])
    main(["assemble", "--store", "features/mine"])
    main(["train", "own"])
    record = json.loads(Path("runs/own/run.json").read_text())
    record.pop("checksum")
    for facts in record["features"].values():
        facts |= {"store": "net", "fingerprint": {"extractor": {"family": "frames"}}}
    write_sealed_json(Path("runs/able/run.json"), record)
    params = json.loads(Path("params.yaml").read_text())
    params["extract"] = {
        "net": {"family": "frames", "network": "squeezenet1_1", "weights": "random", "sampling": {"count": 1}}
    }
    Path("params.yaml").write_text(json.dumps(params))
    capsys.readouterr()

    assert main(["caption", "clip.mp4", "--run", "own"]) == 2
    assert "these runs can: able;" in capsys.readouterr().err


def test_another_name_is_told_with_the_line_that_reads_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["store", "import", "given", "mine", "--tensor", "i3d"])
    main(["assemble", "--store", "features/mine"])
    capsys.readouterr()
    assert main(["train", "own"]) == 3
    told = capsys.readouterr().err
    assert "the model reads 'pool' for 'appearance'; features/mine has: i3d" in told
    assert "tensors: {appearance: i3d} in the run's entry" in told
    assert "outputs" not in told

    (check,) = [check for check in check_plan(load_params()) if check.name == "run own"]  # doctor knows it before
    assert check.detail.startswith("mean_pool reads 'pool' of 'mine', which will have: i3d")
    assert "tensors: {appearance: TENSOR}" in check.fix

    write_params(tensors={"appearance": "i3d"})
    assert all(check.name != "run own" for check in check_plan(load_params()))
    assert main(["train", "own"]) == 0


def test_a_shape_that_no_input_takes_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for id_ in VIDEOS:
        np.save(f"given/{id_}.npy", np.ones((4, 3, 16), np.float32))
    main(["store", "import", "given", "mine"])
    assert list(open_store(Path("features/mine")).manifest["outputs"]) == ["features"]  # regions of each frame
    main(["assemble", "--store", "features/mine"])
    capsys.readouterr()

    assert main(["train", "own"]) == 3
    assert "'appearance' takes a vector per row, 'features' has [3, 16]" in capsys.readouterr().err
