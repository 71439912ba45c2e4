"""Own clips to captions with the commands of the README, in a fresh clone: at most five, and sentences of six clips."""

from __future__ import annotations

import json

import pytest
from ruamel.yaml import YAML

from tests.clips import write_clip
from tests.doc_blocks import ROOT, blocks
from tests.project_copy import Repository, copy_project
from tests.test_graph import PARAMS

SAID = ("a man rides a bicycle", "a dog runs", "a woman cooks in a kitchen", "two men play with a ball")
SLOTS = dict.fromkeys(("appearance", "motion", "regions", "sound", "label"), "none")
ENTRY = {"family": "frames", "network": "squeezenet1_1", "weights": "random", "outputs": ["pool"]}


def documented() -> list[str]:
    """The commands of the README's second block, without what is said about them."""
    lines = blocks(ROOT / "README.md", "bash")[1].splitlines()
    return [line.partition("  #")[0].strip() for line in lines]


def test_they_are_at_most_five() -> None:
    setup, weights, use, repro, caption = documented()

    assert setup == "make setup && source .venv/bin/activate"
    assert "framescribe weights fetch $name" in weights
    assert use.startswith("framescribe dataset use folder --videos clips")
    assert repro == "dvc repro"
    assert caption.startswith("framescribe caption my_clip.mp4 --run soft_attention")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Its own run of the project's settings; an untrained network in the place of three, whose weights are not here."""
    project = Repository(tmp_path_factory.mktemp("hour"))
    copy_project(project.folder)
    own = YAML(typ="safe").load((ROOT / "params.yaml").read_text())["train"]["soft_attention"]
    run = own | {"features": SLOTS | {"appearance": "mobilenet_v2"}}
    extract = {"mobilenet_v2": ENTRY | {"sampling": {"count": 2}}}
    project.write_params(PARAMS | {"extract": extract, "train": {"soft_attention": run}})
    (project.folder / "clips").mkdir()
    rows = ["video,caption"]
    for number in range(6):
        write_clip(project.folder / f"clips/{number}.mp4", frames=10 + number)
        rows += [
            f"{number}.mp4,{SAID[number % len(SAID)]}"
        ] * 6  # an epoch has its price beside its steps: not too many
    (project.folder / "captions.csv").write_text("\n".join([*rows, ""]))
    write_clip(project.folder / "my_clip.mp4", frames=20)
    return project


def said(project: Repository, run: str = "soft_attention") -> list[str]:
    predictions = json.loads((project.folder / f"predictions/{run}.json").read_text())["predictions"]
    return [each["caption"] for each in predictions.values()]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_six_clips_become_captions(project: Repository) -> None:
    _, _, use, repro, caption = documented()
    fitted = project.run("bash", "-c", use)
    trained = project.run("bash", "-c", repro)
    shown = project.run("bash", "-c", f"{caption} --json")

    assert "train.soft_attention: batch_size 128 → 4" in fitted
    assert "too few" not in trained
    assert {len(sentence.split()) > 1 for sentence in said(project)} == {True}
    assert json.loads(shown)["captions"]["my_clip"]
    assert (project.folder / "captions.html").is_file()


@pytest.mark.slow
def test_a_run_that_has_hardly_learnt_says_something_too(project: Repository) -> None:
    """16 steps, as the settings of the demo take of so few captions."""
    project.run("bash", "-c", documented()[2])
    path = project.folder / "params.yaml"
    params = YAML(typ="safe").load(path.read_text())
    params["train"]["soft_attention"] |= {"batch_size": 128, "epochs": 16}
    project.write_params(params)
    told = project.run("dvc", "repro")

    assert "16 steps in all (1 an epoch) are too few to learn sentences" in told
    assert all(said(project))
