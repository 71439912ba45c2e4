"""A recipe from raw clips to the report under real DVC, small enough for two cores.

`framescribe paper` sets params.yaml; then what docs/papers.md names under "A rehearsal" is changed, and nothing else.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.papers.recipes import Recipe, Row, read_recipe
from tests.papers.tiny_datasets import SENTENCES, make_dataset
from tests.project_copy import copy_project

WORD_SIZE = 300  # of word2vec
SMALLER = {  # detectors on a processor: a full frame takes most of a minute
    "faster_rcnn": {"short_side": 128, "proposals": 20},
    "mask_rcnn": {"short_side": 64, "detector_short_side": 128, "proposals": 20},
}


@dataclass
class Rehearsal:
    recipe: Recipe
    folder: Path
    stages: list[str] = field(default_factory=list)  # that DVC ran
    commands: list[str] = field(default_factory=list)  # for rows that are no stage of the graph
    seconds: float = 0.0

    def run(self, *command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{self.recipe.name}: {' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def repro(self) -> list[str]:
        return re.findall(r"Running stage '(.+?)'", self.run("dvc", "repro"))

    def scores(self, run: str) -> dict[str, Any]:
        return json.loads((self.folder / f"metrics/{run}/scores.json").read_text())

    @property
    def rows(self) -> list[tuple[str, Row, list[str]]]:
        """Table, row and metrics of all rows of the split that the recipe captions."""
        split = self.recipe.caption.split
        tables = [table for table in self.recipe.tables if table.split == split]
        return [(f"Table {table.table}", row, table.metrics) for table in tables for row in table.rows]

    @property
    def facts(self) -> dict[str, Any]:
        steps = [stage.partition("@")[0] for stage in self.stages]
        return {
            "stages": {step: steps.count(step) for step in dict.fromkeys(steps)},
            "rows": len(self.rows),
            "rows of another split": sum(len(table.rows) for table in self.recipe.tables) - len(self.rows),
            "fusions and ensembles": len([command for command in self.commands if "evaluate" in command]),
            "training stages with rewards": sum(
                bool(stage.rewards) for run in self.recipe.train.values() for stage in run.stages
            ),
            "seconds": round(self.seconds),
        }


def rehearse(name: str, folder: Path) -> Rehearsal:
    rehearsal = Rehearsal(read_recipe(name), folder)
    about = rehearsal.recipe.recipe
    copy_project(folder)
    videos, annotations = (
        str(path.relative_to(folder)) for path in make_dataset(about.dataset, about.split, folder / "data/tiny")
    )
    where = ("--videos", videos, "--annotations", annotations, "--split", about.split)
    begun = time.monotonic()
    rehearsal.run("framescribe", "dataset", "use", about.dataset, *where)
    rehearsal.run("framescribe", "paper", name)
    _shrink(folder / "params.yaml")
    if about.word_vectors:
        _write_words(folder / "weights/words/word2vec.txt")
    rehearsal.stages = rehearsal.repro()
    for line in dict.fromkeys(line for _, row, _ in rehearsal.rows for line in row.commands):
        rehearsal.run(*line.split())
        rehearsal.commands.append(line)
    rehearsal.stages += [stage for stage in rehearsal.repro() if stage not in rehearsal.stages]
    rehearsal.seconds = time.monotonic() - begun
    return rehearsal


def _shrink(params: Path) -> None:
    """Untrained networks, whose maps float16 cannot hold; one epoch a stage; smaller pictures for detectors."""
    document = YAML().load(params.read_text())
    for entry in document["extract"].values():
        entry |= {"weights": "random", "dtype": "float32"}
        entry["options"] = {**entry.get("options", {}), **SMALLER.get(entry["family"], {})}
    for run in document["train"].values():
        run["epochs"] = 1
        run["then"] = [{**stage, "epochs": 1} for stage in run.get("then", [])]
    with params.open("w") as stream:
        YAML().dump(document, stream)


def _write_words(path: Path) -> None:
    draw = random.Random(0)
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    vectors = [" ".join(f"{draw.gauss(0, 0.1):.4f}" for _ in range(WORD_SIZE)) for _ in words]
    path.write_text("".join(f"{word} {vector}\n" for word, vector in zip(words, vectors, strict=True)))
