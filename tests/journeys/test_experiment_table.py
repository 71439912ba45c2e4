"""The command of docs/working-together.md for a table of experiments, with the runs of params.yaml: one screen."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.project_copy import ROOT, Repository

RUNS = ("mean_pool", "soft_attention", "all_senses")
SCREEN = 100  # columns
DOCUMENTED = re.compile(r"^(dvc exp show .*?)^```", re.MULTILINE | re.DOTALL)


def write_state(repository: Repository, *, cider: float, beam: int, every: int) -> None:
    params = YAML(typ="safe").load((ROOT / "params.yaml").read_text())
    params["caption"]["beam"] = beam
    params["extract"]["mobilenet_v2"]["sampling"]["every"] = every
    repository.write_params(params)
    for number, run in enumerate(RUNS):
        numbers = {"CIDEr-D": cider + number / 3, "BLEU-4": cider / 4}
        path = repository.folder / f"metrics/{run}/scores.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"scores": numbers, "intervals": {"CIDEr-D": [cider - 1, cider + 1]}}))


@pytest.fixture
def tried(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path)
    (tmp_path / "dvc.yaml").write_text(json.dumps({"metrics": [f"metrics/{run}/scores.json" for run in RUNS]}))
    shutil.copytree(ROOT / ".dvc", tmp_path / ".dvc", ignore=shutil.ignore_patterns("cache", "tmp", "plots"))
    repository.run("git", "init", "--quiet")
    write_state(repository, cider=1.5, beam=5, every=5)
    repository.commit()
    write_state(repository, cider=1.25, beam=1, every=5)
    repository.run("dvc", "exp", "save", "--name", "greedy")
    write_state(repository, cider=1.75, beam=5, every=3)
    repository.run("dvc", "exp", "save", "--name", "denser")
    return repository


@pytest.mark.skipif(not shutil.which("column"), reason="column, of bsdextrautils, is not here")
def test_the_documented_table_fits_one_screen(tried: Repository) -> None:
    (documented,) = DOCUMENTED.findall((ROOT / "docs/working-together.md").read_text())
    table = tried.run("bash", "-c", documented).splitlines()

    assert table[0].split() == ["Experiment", *RUNS, "extract.mobilenet_v2.sampling.every", "caption.beam"]
    assert ["greedy", "1.25", "1.58", "1.92", "5", "1"] in [line.split() for line in table]
    assert ["denser", "1.75", "2.08", "2.42", "3", "5"] in [line.split() for line in table]
    assert max(map(len, table)) <= SCREEN
