"""The stages `weights@<extractor>`: what is missing is told, unless it was here when the features were made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.sealed_file import write_sealed_json

RECORD = Path("data/weights/net.json")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_params("mobilenet_v2")


def write_params(weights: str) -> None:
    entry = {"family": "frames", "network": "mobilenet_v2", "weights": weights, "sampling": {"count": 2}}
    dataset = {"name": "demo", "videos": "videos", "annotations": "annotations.json"}
    Path("params.yaml").write_text(json.dumps({"dataset": dataset, "extract": {"net": entry}, "train": {}}))


def test_weights_that_never_were_here_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "require", "net"]) != 0
    assert "the weights 'mobilenet_v2' are missing" in capsys.readouterr().err
    assert not RECORD.exists()


@pytest.mark.parametrize("name", ["mobilenet_v2", "mine"])
def test_a_record_that_came_with_the_features_is_kept(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also of weights of one's own, whose very name is unknown where their file is not."""
    write_params(name)
    write_sealed_json(RECORD, {"weights": name, "sha256": "0" * 64})
    before = RECORD.read_bytes()

    assert main(["weights", "require", "net"]) == 0
    assert f"the weights {name} are not here; what they made stays" in capsys.readouterr().out
    assert RECORD.read_bytes() == before


def test_a_record_of_other_weights_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    write_sealed_json(RECORD, {"weights": "another", "sha256": "0" * 64})

    assert main(["weights", "require", "net"]) != 0
    assert "the weights 'mobilenet_v2' are missing" in capsys.readouterr().err


def test_a_damaged_file_of_weights_is_no_absent_one(capsys: pytest.CaptureFixture[str]) -> None:
    write_sealed_json(RECORD, {"weights": "mobilenet_v2", "sha256": "0" * 64})
    Path("weights").mkdir()
    Path("weights/mobilenet_v2.safetensors").write_bytes(b"broken")

    assert main(["weights", "require", "net"]) != 0
    assert "the weights 'mobilenet_v2' are damaged" in capsys.readouterr().err
