"""A small run, from raw clips to a paper's table by the commands themselves: the same, until one setting is another.

The recipe is this test's own, of the numbers of videos that there are: of a true one no small run is ever the same.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.cli import main
from pipeline.papers.applying import applied
from pipeline.papers.tables import AS_PUBLISHED
from pipeline.params import load_params
from pipeline.report.paper_tables import read_tables
from pipeline.report.results import Sources
from tests.papers.tiny_datasets import make_dataset

pytestmark = pytest.mark.slow  # METEOR loads its tables for every score
ROOT = Path(__file__).parents[2]
RECIPE = """\
recipe:
  paper: Tiny
  title: "a paper of this test"
  dataset: msvd
  videos: {train: 2, val: 1, test: 2}
  main: tiny
  caption_gmac: 0.1
  differs: []
tables:
  - table: 1
    metrics: [BLEU-4, METEOR]
    units: percent
    rows:
      - {row: one, run: tiny, scores: [50.0, 30.0]}
      - row: two together
        run: tiny_ensemble
        scores: [60.0, 35.0]
        commands:
          - framescribe caption tiny tiny_1 --out predictions/tiny_ensemble.json
          - framescribe evaluate tiny_ensemble
      - {row: nobody's, run: tiny_vre, scores: [70.0, 40.0]}
extract:
  mobilenet_v2: {weights: random, sampling: {every: 8}}
assemble: {min_count: 1, max_words: 12}
train:
  tiny: &tiny
    model: soft_attention
    features: {appearance: mobilenet_v2, motion: none, regions: none, sound: none, label: none}
    start_from: none
    word_vectors: weights/words/none.txt
    options: {word_size: 8, hidden_size: 16, attention_size: 8}
    epochs: 1
    batch_size: 4
    learning_rate: 0.01
  tiny_1: {<<: *tiny, seed: 1}
  tiny_vre: {<<: *tiny, model: vre, options: {hidden_size: 16}}
caption: {beam: 2, max_words: 12}
"""
STAGES = {
    "decode": [["decode"]],
    "extract": [["extract", "mobilenet_v2"]],
    "assemble": [["assemble"]],
    "train": [["train", "tiny"], ["train", "tiny_1"]],
    "caption": [["caption", "tiny"], ["caption", "tiny", "tiny_1", "--out", "predictions/tiny_ensemble.json"]],
    "evaluate": [["evaluate", "tiny", "tiny_ensemble"]],
}
SAME = {"one": [AS_PUBLISHED], "two together": [AS_PUBLISHED], "nobody's": ["dvc repro evaluate@tiny_vre"]}


def run_from(first: str) -> None:
    for stage in dropwhile(lambda stage: stage != first, STAGES):
        for words in STAGES[stage]:
            assert main([*words, "--workers", "1", "--quiet"]) == 0, words


def remarks() -> dict[str, list[str]]:
    (table,) = [each for each in read_tables(load_params(), sources=Sources()) if each.recipe == "tiny-msvd"]
    return {line.row: line.remarks for line in table.lines}


def change(path: Sequence[str], value: object) -> None:
    params = Path("params.yaml")
    document = YAML().load(params.read_text())
    section = document
    for key in path[:-1]:
        section = section.setdefault(key, {})
    section[path[-1]] = value
    with params.open("w") as stream:
        YAML().dump(document, stream)


@pytest.fixture(scope="module")
def as_published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the stages make of the recipe."""
    folder = tmp_path_factory.mktemp("recipe")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        (folder / "papers").mkdir()
        (folder / "papers/tiny-msvd.yaml").write_text(RECIPE)
        shutil.copy(ROOT / "params.yaml", folder)
        videos, annotations = make_dataset("msvd", "standard", folder / "data/tiny")
        where = ("--videos", str(videos), "--annotations", str(annotations))
        assert main(["dataset", "use", "msvd", *where, "--quiet"]) == 0
        Path("params.yaml").write_text(applied("tiny-msvd"))  # as `framescribe paper` does
        run_from("decode")
    return folder


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.chdir(folder)
    patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
    for module in ("papers.recipes", "report.report"):
        patch.setattr(f"pipeline.{module}.RECIPES", folder / "papers")


@pytest.fixture
def project(as_published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(as_published, tmp_path, dirs_exist_ok=True)
    enter(tmp_path, monkeypatch)
    return tmp_path


def test_what_the_recipe_makes_is_as_the_recipe_says(project: Path) -> None:
    assert remarks() == SAME


@pytest.mark.parametrize(
    ("path", "value", "stage", "told"),
    [
        (("extract", "mobilenet_v2", "sampling", "every"), 6, "extract", "appearance: sampling.every 6, not 8"),
        (("assemble", "min_count"), 3, "assemble", "assemble.min_count 3, not 1"),
        (("assemble", "max_words"), 5, "train", "assemble.max_words 5, not 12"),
        (("caption", "beam"), 1, "caption", "caption.beam 1, not 2"),
        (("evaluate", "tokenizer"), "python", "evaluate", "evaluate.tokenizer python, not ptb"),
    ],
    ids=["sampling", "min_count", "max_words", "beam", "tokenizer"],
)
def test_a_setting_of_all_runs_is_told_beside_each(
    project: Path, path: tuple[str, ...], value: object, stage: str, told: str
) -> None:
    change(path, value)
    run_from(stage)

    together = told if stage in ("caption", "evaluate") else f"every member: {told}"
    assert remarks() == SAME | {"one": [told], "two together": [together]}


def test_a_setting_of_one_run_is_told_of_it_alone_and_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(("train", "tiny_1", "learning_rate"), 0.02)
    run_from("train")

    told = "tiny_1: learning_rate 0.02, not 0.01"
    assert remarks() == SAME | {"two together": [told]}
    assert main(["report"]) == 0
    assert told in capsys.readouterr().out
    assert told in Path("report/index.html").read_text()


def test_a_run_that_was_trained_again_is_not_the_one_that_was_scored(project: Path) -> None:
    change(("train", "tiny", "epochs"), 2)
    assert main(["train", "tiny", "--workers", "1", "--quiet"]) == 0

    unknown = "how it was trained not known"
    assert remarks() == SAME | {"one": [unknown], "two together": [f"tiny: {unknown}"]}


def test_an_ensemble_of_one_run_is_told(project: Path) -> None:
    for words in (["caption", "tiny", "--out", "predictions/tiny_ensemble.json"], ["evaluate", "tiny_ensemble"]):
        assert main([*words, "--workers", "1", "--quiet"]) == 0

    told = remarks()["two together"]

    assert told == ["captioned by tiny, not tiny + tiny_1", "tiny_1: how it was trained not known"]


def test_a_sentence_beside_the_caption_is_no_difference(project: Path) -> None:
    change(("caption", "first_reading"), True)
    run_from("caption")

    assert remarks() == SAME
