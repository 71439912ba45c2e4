"""Nothing is looked up and nobody is reached that the user did not ask for: every stage, every engine, traced."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

import pipeline
from pipeline.cli import main
from tests.test_graph import PARAMS, Clone
from tests.tracing import watched

ENGINE = """
import sys, time
from pipeline.extraction.build_extractor import extractor_of
import torch
from pipeline.params.extract import Extract
facts = {"family": "frames", "network": "squeezenet1_1", "weights": "random", "sampling": {"every": 1}}
extractor = extractor_of(Extract.model_validate({**facts, "engine": sys.argv[1]}), device="cpu")
extractor(torch.zeros(2, 3, 224, 224))
time.sleep(5)  # a library may wait before it sends
"""
STAGES = """
import sys
from pipeline.cli import main
for line in sys.argv[1:]:
    code = main([*line.split(), "--quiet"])
    if code:
        sys.exit(code)
"""
RUN = ("decode", "extract {0}", "assemble", "train {0}", "caption {0}", "evaluate {0}", "report", "store verify {0}")


def assert_silent(command: Sequence[str], *, folder: Path, home: Path) -> None:
    asked = watched(command, folder=folder, home=home)
    assert asked.home == []
    if asked.network is None:
        pytest.skip("strace is not here or not permitted; only the home folder was looked at")
    assert asked.network == []


@pytest.mark.parametrize(
    "engine", ["eager", "onnxruntime", "openvino", pytest.param("compile", marks=pytest.mark.slow)]
)
def test_an_engine_asks_nobody(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = engine if engine in ("onnxruntime", "openvino") else "torch"
    if find_spec(package) is None:
        pytest.skip("pip install 'framescribe[engines]'")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    assert_silent([sys.executable, "-c", ENGINE, engine], folder=tmp_path, home=tmp_path / "home")


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    small = {**PARAMS["extract"]["a"], "network": "squeezenet1_1"}
    engines = {name: {**small, "engine": name} for name in ("onnxruntime", "openvino")}
    run = {**PARAMS["train"]["a"], "features": {**PARAMS["train"]["a"]["features"], "appearance": "onnxruntime"}}
    params = {**PARAMS, "extract": engines, "train": {"onnxruntime": run}, "evaluate": {}}
    Path("params.yaml").write_text(json.dumps(params))
    assert main(["demo-data", "--clips", "12", "--quiet"]) == 0
    return folder


def test_no_stage_asks_anybody(demo: Path, tmp_path: Path) -> None:
    lines = [line.format("onnxruntime") for line in RUN]
    lines[1:1] = ["extract openvino --workers 2", "doctor --quick"]
    assert_silent([sys.executable, "-c", STAGES, *lines], folder=demo, home=tmp_path / "home")


@pytest.mark.slow
def test_the_whole_graph_asks_nobody(tmp_path: Path) -> None:
    """Under DVC, which has analytics of its own."""
    (tmp_path / "clone").mkdir()
    clone = Clone(tmp_path / "clone")
    assert_silent([shutil.which("dvc") or "dvc", "repro", "--quiet"], folder=clone.folder, home=tmp_path / "home")


def test_the_choice_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    importlib.reload(pipeline)

    assert (os.environ["HF_HUB_OFFLINE"], os.environ["ORT_DISABLE_TELEMETRY"]) == ("0", "1")
