"""A user's own clips to captions, and a colleague who gets the same: the commands of docs/working-together.md."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML
from torchvision.models import get_model

from tests.clips import write_clip
from tests.journeys.test_experiment_table import DOCUMENTED, SCREEN
from tests.project_copy import ROOT, Repository, copy_project

pytestmark = pytest.mark.slow
VIDEOS = [f"clip{number}" for number in range(9)]
SLOTS = dict.fromkeys(("appearance", "motion", "regions", "sound", "label"), "none")
EXTRACTOR = {"family": "frames", "network": "squeezenet1_1", "outputs": ["pool"]}
PARAMS: dict[str, Any] = {
    "dataset": {"name": "demo", "videos": "data/demo/videos", "annotations": "data/demo/annotations.json"},
    "extract": {
        "mine": EXTRACTOR | {"weights": "mine", "sampling": {"count": 2}},
        "other": EXTRACTOR | {"weights": "mine", "sampling": {"count": 3}},
    },
    "train": {
        "own": {
            "model": "mean_pool",
            "features": SLOTS | {"appearance": "mine"},
            "start_from": "none",
            "word_vectors": "weights/words/none.txt",
            "options": {"hidden_size": 8, "word_size": 4},
            "epochs": 1,
        }
    },
    "decode": {"max_failed": 0},
    "assemble": {"min_count": 1, "max_words": 20},
    "caption": {"beam": 2},
    "evaluate": {"meteor": False},
    "report": {"examples": 2},
}
UP_TO_DATE = "Data and pipelines are up to date."


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Clips and weights of one's own; captions are filled in later, and everything is pushed."""
    author = Repository(tmp_path_factory.mktemp("author"))
    copy_project(author.folder)
    author.write_params(PARAMS)
    (author.folder / "clips").mkdir()
    for number, name in enumerate(VIDEOS):
        write_clip(author.folder / f"clips/{name}.mp4", frames=12 + number)
    torch.manual_seed(0)
    torch.save(get_model("squeezenet1_1", weights=None).state_dict(), author.folder / "mine.pth")
    author.run("framescribe", "weights", "import", "mine", "mine.pth", "--network", "torchvision:squeezenet1_1")
    (author.folder / "mine.pth").unlink()
    author.run("framescribe", "dataset", "use", "folder", "--videos", "clips")
    author.run("dvc", "add", "clips", "weights/mine.safetensors")
    return author


@pytest.fixture(scope="module")
def captioned(author: Repository) -> Repository:
    """Without captions there are features; with them the whole graph, and the features are not made again."""
    features = author.run("dvc", "repro", "extract")
    refused = author.start("dvc", "repro")
    _, told = refused.communicate()
    fill_in(author.folder / "captions.csv")
    ran, _ = author.repro()

    assert "features/mine: 9 videos, 9 computed, 0 failed" in features
    assert refused.returncode != 0
    assert "captions.csv: none of its 9 lines has a caption" in told
    assert ran == {"assemble", "train@own", "caption@own", "evaluate@own", "report"}
    share(author)
    return author


def fill_in(table: Path) -> None:
    rows = [[row["video"], f"a pattern moves {number % 3} times"] for number, row in enumerate(read(table))]
    with table.open("w", newline="") as stream:
        csv.writer(stream).writerows([["video", "caption"], *rows])


def read(table: Path) -> list[dict[str, str]]:
    with table.open() as stream:
        return list(csv.DictReader(stream))


def share(author: Repository) -> None:
    author.run("dvc", "remote", "add", "--default", "shared", str(author.folder.parent / "shared"))
    author.commit()
    author.run("dvc", "push")


@pytest.fixture
def colleague(captioned: Repository, tmp_path: Path) -> Repository:
    subprocess.run(["git", "clone", "--quiet", captioned.folder, tmp_path / "clone"], check=True)
    colleague = Repository(tmp_path / "clone")
    colleague.run("dvc", "pull")
    return colleague


def test_own_clips_become_captions_and_the_report_says_how_they_were_divided(captioned: Repository) -> None:
    page = (captioned.folder / "report/index.html").read_text()
    command = ("framescribe", "caption", "clips/clip0.mp4", "--run", "own", "--html", "captions.html", "--json")
    said = json.loads(captioned.run(*command))
    shown = captioned.folder / "captions.html"

    assert "a subset: 4 of 9 videos are in another split than the annotations say" in page
    assert list(said["captions"]) == ["clip0"]
    assert "clip0" in shown.read_text()
    shown.unlink()


def test_a_colleague_with_everything_computes_nothing(colleague: Repository) -> None:
    assert (colleague.folder / "weights/mine.safetensors").is_file()
    assert colleague.run("dvc", "repro").endswith(f"{UP_TO_DATE}\n")
    assert colleague.run("git", "status", "--short") == ""


def test_a_colleague_without_the_videos_computes_nothing(colleague: Repository) -> None:
    shutil.rmtree(colleague.folder / "clips")

    assert colleague.run("dvc", "repro", "--allow-missing").endswith(f"{UP_TO_DATE}\n")
    refused = colleague.start("dvc", "repro")
    _, told = refused.communicate()
    assert refused.returncode != 0
    assert "missing data 'source': clips" in told
    assert (colleague.folder / "data/index/index.jsonl").is_file()
    assert colleague.run("git", "status", "--short") == ""


def test_a_colleague_without_the_weights_computes_nothing_and_is_told(colleague: Repository) -> None:
    (colleague.folder / "weights/mine.safetensors").unlink()
    before = (colleague.folder / "metrics/own/scores.json").read_bytes()
    told = colleague.run("dvc", "repro", "--allow-missing")

    assert set(re.findall(r"Running stage '(.+?)'", told)) == {"weights@mine", "weights@other"}  # they only look
    assert "the weights mine are not here; what they made stays" in told
    assert (colleague.folder / "metrics/own/scores.json").read_bytes() == before


def test_a_new_clip_without_the_weights_is_refused_in_words(colleague: Repository) -> None:
    (colleague.folder / "weights/mine.safetensors").unlink()
    write_clip(colleague.folder / "clips/new.mp4", frames=40)
    repro = colleague.start("dvc", "repro", "--allow-missing", "extract")
    _, told = repro.communicate()

    assert repro.returncode != 0
    assert "no weights are called 'mine'" in told


@pytest.fixture(scope="module")
def tried(captioned: Repository) -> Repository:
    """Experiments of every kind; three frames instead of two are what the other extractor took."""
    captioned.run("dvc", "exp", "run", "-S", "caption.beam=1", "--name", "here")
    captioned.run("git", "checkout", "--quiet", ".")
    captioned.run("dvc", "checkout")
    captioned.run("dvc", "exp", "run", "--queue", "-S", "train.own.epochs=2", "--name", "later")
    captioned.run("dvc", "exp", "run", "--run-all")
    temporary = captioned.run("dvc", "exp", "run", "--temp", "-S", "extract.mine.sampling.count=3", "--name", "apart")

    assert "features/mine: 9 videos, 0 computed, 0 failed" in temporary
    return captioned


def experiments(tried: Repository) -> dict[str, dict[str, str]]:
    return {row["Experiment"]: row for row in csv.DictReader(tried.run("dvc", "exp", "show", "--csv").splitlines())}


def test_experiments_leave_the_workspace_and_change_one_value(tried: Repository) -> None:
    rows = experiments(tried)

    assert rows["here"]["caption.beam"] == "1"
    assert rows["later"]["train.own.epochs"] == "2"
    assert rows["apart"]["extract.mine.sampling.count"] == "3"
    assert tried.run("git", "status", "--short") == ""


def test_the_queue_works_in_the_background(tried: Repository) -> None:
    before = tried.run("git", "rev-parse", "HEAD")
    tried.run("dvc", "exp", "run", "--queue", "-S", "caption.beam=3", "--name", "behind")
    tried.run("dvc", "queue", "start")
    try:
        while "behind" not in (status := tried.run("dvc", "queue", "status")) or re.search("Queued|Running", status):
            time.sleep(2)
    finally:
        tried.run("dvc", "queue", "stop")
    logged = tried.run("dvc", "queue", "logs", "behind")

    assert re.search(r"behind .*Success", status)
    assert "Running stage 'caption@own'" in logged
    assert experiments(tried)["behind"]["caption.beam"] == "3"
    assert tried.run("git", "status", "--short") == ""
    assert tried.run("git", "rev-parse", "HEAD") == before


def test_an_experiment_becomes_the_workspace(tried: Repository) -> None:
    params = tried.folder / "params.yaml"
    before = params.read_bytes()
    tried.run("dvc", "exp", "apply", "later")
    try:
        assert YAML(typ="safe").load(params.read_text())["train"]["own"]["epochs"] == 2
        assert tried.run("dvc", "repro").endswith(f"{UP_TO_DATE}\n")
    finally:
        tried.run("git", "checkout", "--quiet", "HEAD", ".")
        tried.run("dvc", "checkout")
    assert params.read_bytes() == before


def test_the_documented_table_has_every_experiment_on_one_screen(tried: Repository) -> None:
    (documented,) = DOCUMENTED.findall((ROOT / "docs/working-together.md").read_text())
    table = tried.run("bash", "-c", documented).splitlines()

    assert {"workspace", "here", "later", "apart"} <= {line.split()[0] for line in table}
    assert max(map(len, table)) <= SCREEN


def test_plots_are_compared(tried: Repository) -> None:
    assert "dvc_plots/index.html" in tried.run("dvc", "plots", "diff", "HEAD", "here")
    assert "later" in tried.run("dvc", "plots", "diff", "HEAD", "later", "--json")
