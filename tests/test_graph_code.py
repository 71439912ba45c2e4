"""dvc.yaml depends on every line that decides a stage's result: the folders it names against what the stage imports."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

from pipeline.params import edit_params
from pipeline.training.setup import CODE
from tests.imports import ROOT, closure, modules, within
from tests.project_copy import copy_project

# Where the work of a stage begins. What is started by name rather than imported is named here too.
ROOTS = {
    "decode": ["pipeline.decoding.decode", "pipeline.decoding.child"],
    "extract": ["pipeline.extraction.extract", "pipeline.decoding.child"],
    "assemble": ["pipeline.datasets.assemble"],
    "train": ["pipeline.training.train", *(name for name in modules() if within(name, ["models"]))],
    "caption": ["pipeline.captioning.caption", *(name for name in modules() if within(name, ["models"]))],
    "evaluate": ["pipeline.evaluation.evaluate"],
    "report": ["pipeline.report.report", "pipeline.decoding.child"],
}
# What a stage imports and does not depend on, each with its reason.
DECIDE_NOTHING = {
    "pipeline.core": "writes what it is given, checks it, talks to people",
    "pipeline.remote": "brings bytes that are compared with their checksum",
    "pipeline.params.file": "a value that changes is a dependency by itself (params:)",
    "pipeline.params.section": "as above",
    "pipeline.params.values_in_use": "as above",
    "pipeline.params.dataset": "paths and names, no arithmetic; a value that changes is a dependency by itself",
    "workflows": "where a stage runs, never what comes out",
}
FAMILIES = sorted(path.stem for path in (ROOT / "extractors").glob("*.py") if path.stem not in ("__init__", "base"))
# The sections that a stage reads beside its own; they are values that `params:` names.
READS_SECTION = {
    "assemble": ["dataset", "decode"],
    "train": ["caption"],
    "caption": ["train"],
    "report": ["assemble", "caption", "evaluate", "extract", "train"],
}


def graph() -> dict[str, Any]:
    stages = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: stage.get("do", stage) for name, stage in stages.items()}


def code_of(stage: str, *, family: str = "frames") -> list[str]:
    """The sources among the dependencies of a stage."""
    named = [dep.replace("${item.family}", family) for dep in graph()[stage]["deps"]]
    tops = ("pipeline", "extractors", "models", "workflows")
    return [dep for dep in named if dep.split("/")[0] in tops]


def is_covered(module: str, code: list[str]) -> bool:
    path = modules()[module].relative_to(ROOT)
    return any(path == Path(dep) or path.is_relative_to(dep) for dep in code)


def uncovered(stage: str, roots: list[str], *, family: str = "frames") -> list[str]:
    sections = [f"pipeline.params.{name}" for name in READS_SECTION.get(stage, [])]
    reached = closure(roots, beyond=[*DECIDE_NOTHING, *sections])
    with_code = [module for module in reached if modules()[module].stat().st_size]
    return sorted(module for module in with_code if not is_covered(module, code_of(stage, family=family)))


@pytest.mark.parametrize("stage", ROOTS)
def test_a_stage_depends_on_all_code_that_it_runs(stage: str) -> None:
    assert not uncovered(stage, ROOTS[stage])


@pytest.mark.parametrize("family", FAMILIES)
def test_an_extractor_depends_on_its_own_family_and_on_no_other(family: str) -> None:
    assert not uncovered("extract", [*ROOTS["extract"], f"extractors.{family}"], family=family)


@pytest.mark.parametrize("stage", ROOTS)
def test_a_stage_depends_on_no_code_that_it_does_not_run(stage: str) -> None:
    reached = closure([*ROOTS[stage], *(f"extractors.{family}" for family in FAMILIES if stage == "extract")])
    for dep in code_of(stage):
        sources = {module for module in modules() if is_covered(module, [dep])}
        assert not sources or reached & sources, f"{stage} names {dep} for nothing"


def test_what_decides_a_result_is_a_folder_or_the_section_of_the_stage() -> None:
    """Single files are a list that someone must keep; the family and the section are named by params.yaml."""
    for stage in ROOTS:
        files = {dep for dep in code_of(stage) if dep.endswith(".py")}
        assert files <= {f"pipeline/params/{stage}.py", "extractors/base.py", "extractors/frames.py"}


def test_half_a_run_is_resumed_by_the_code_that_the_graph_knows() -> None:
    assert list(CODE) == code_of("train")


def test_the_test_can_fail() -> None:
    """A stage that runs a module which its dependencies do not cover is told by the module's name."""
    assert "pipeline.training.trainer" in uncovered("evaluate", ["pipeline.training.train"])


EXTRACT = {f"extract@{name}" for name in ("mobilenet_v2", "i3d_rgb", "soundnet")}
TRAIN, CAPTION, EVALUATE = (
    {f"{stage}@{run}" for run in ("mean_pool", "soft_attention", "all_senses")}
    for stage in ("train", "caption", "evaluate")
)
# Source -> the stages that a change of it must run again, and no others.
TOUCHED: dict[str, set[str]] = {
    "pipeline/training/setup.py": TRAIN,
    "pipeline/training/trainer.py": TRAIN,
    "pipeline/captioner/build_model.py": TRAIN | CAPTION,
    "pipeline/captioner/checkpoint.py": TRAIN | CAPTION,
    "pipeline/captioner/teacher_forcing.py": TRAIN | CAPTION,
    "pipeline/captioner/search.py": TRAIN | CAPTION,
    "models/parts/layers.py": TRAIN | CAPTION,
    "pipeline/corpus/corpus.py": {"assemble", "report"} | TRAIN | CAPTION | EVALUATE,
    "pipeline/corpus/vocabulary.py": {"assemble", "report"} | TRAIN | CAPTION | EVALUATE,
    "pipeline/captioning/caption_model.py": CAPTION,
    "pipeline/metrics/cider.py": TRAIN | CAPTION | EVALUATE,  # a consensus is judged by it
    "pipeline/evaluation/bootstrap.py": EVALUATE,
    "pipeline/extraction/forward_pass.py": EXTRACT,
    "pipeline/extraction/audio_features.py": EXTRACT,
    "pipeline/extraction/engine_choice.py": EXTRACT,
    "extractors/parts/network.py": EXTRACT,
    "extractors/parts/resizing.py": EXTRACT,
    "extractors/i3d.py": {"extract@i3d_rgb"},
    "extractors/yolo.py": set(),
    "pipeline/decoding/pyav.py": {"decode", "report"} | EXTRACT,
    "pipeline/datasets/msvd.py": {"assemble"},
    "pipeline/papers/tables.py": {"report"},
    "pipeline/report/report.py": {"report"},
    "pipeline/params/caption.py": CAPTION,
    "pipeline/weights/registry.yaml": EXTRACT,
    "pipeline/stages/train.py": set(),
    "pipeline/cli.py": set(),
    "pipeline/core/console.py": set(),
    "workflows/cluster/executor.py": set(),
    "pipeline/store_tools/verify_store.py": set(),
}


class Committed:
    """A clone whose stages all have outputs, as DVC believes: nothing is computed here."""

    def __init__(self, folder: Path, *, copied: bool = False) -> None:
        self.folder = folder
        if not copied:
            copy_project(folder)
        for name in ("data/demo/videos/clip.mp4", "data/demo/annotations.json", *self.weights(), *self.outputs()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name)
        self.dvc("dvc", "commit", "--force", "--quiet")

    @staticmethod
    def weights() -> list[str]:
        return [f"weights/{name}.safetensors" for name in ("mobilenet_v2", "i3d_rgb", "soundnet")]

    @staticmethod
    def outputs() -> list[str]:
        stores = [f"features/{name}/store.json" for name in ("mobilenet_v2", "i3d_rgb", "soundnet", "category")]
        runs = [name.partition("@")[2] for name in sorted(TRAIN)]
        each = ("runs/{}/run.json", "metrics/{}/curves.csv", "predictions/{}.json", "predictions/{}.safetensors")
        more = ("predictions/{}.origin.json", "evaluation/{}.json", "metrics/{}/scores.json")
        single = ["data/index/index.jsonl", "data/captions/captions.json", "report/index.html"]
        tables = ["tables/curves.csv", "tables/scores.csv"]
        known = [f"data/weights/{name.partition('@')[2]}.json" for name in sorted(EXTRACT)]
        return [*known, *stores, *(name.format(run) for run in runs for name in (*each, *more)), *single, *tables]

    def dvc(self, *command: str) -> str:
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def changed(self) -> set[str]:
        """`dvc status`, in this process: a new one would take three times as long to begin."""
        with chdir(self.folder), Repo() as repo:  # names are relative to where it is asked
            return set(repo.status())


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Committed:
    clone = Committed(tmp_path_factory.mktemp("committed"))
    assert clone.changed() == set()
    return clone


def test_what_a_killed_stage_leaves_unfinished_is_no_dependency(committed: Committed) -> None:
    """`kill -9` beside the output: assemble in features/, which the report depends on, and in data/captions."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = f"{socket.gethostname()}-{ended.pid}-7.tmp"
    names = [f"features/.category.{left}/shard-0000.safetensors", f"data/captions/.captions.json.{left}"]
    for path in [committed.folder / name for name in [*names, f"predictions/.a.json.{left}"]]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")

    assert committed.changed() == set()


@pytest.mark.parametrize("source", TOUCHED)
def test_a_comment_runs_exactly_the_stages_that_the_file_decides(committed: Committed, source: str) -> None:
    path = committed.folder / source
    text = path.read_text()
    path.write_text(text + "\n# edited\n")
    try:
        assert committed.changed() == TOUCHED[source]
    finally:
        path.write_text(text)


# What a run reads besides the stores of its four senses, and what must run again when it changes. Stages that look
# whether weights are here see every file of that folder; what they find is the same, so nothing follows them.
LOOKS = {name.replace("extract", "weights") for name in EXTRACT}
READ_BESIDES: dict[str, set[str]] = {
    "weights/words/glove.txt": {"train@soft_attention"} | LOOKS,
    "runs/mean_pool/run.json": {"train@mean_pool", "train@soft_attention", "caption@mean_pool", "report"},
    "features/category/store.json": {"assemble", "train@soft_attention", "caption@soft_attention", "report"},
}


@pytest.fixture(scope="module")
def reading_more(tmp_path_factory: pytest.TempPathFactory) -> Committed:
    """One run that reads all of them, and two that do not."""

    def let_it_read(document: Any) -> None:
        run = document["train"]["soft_attention"]
        run["start_from"], run["word_vectors"] = "mean_pool", "weights/words/glove.txt"
        run["features"]["label"] = "category"

    folder = tmp_path_factory.mktemp("reading_more")
    copy_project(folder)
    edit_params(let_it_read, path=folder / "params.yaml")
    (folder / "weights/words/glove.txt").write_text("a 0.5\n")
    return Committed(folder, copied=True)


@pytest.mark.parametrize("file", READ_BESIDES)
def test_what_a_run_reads_besides_its_stores_is_a_dependency(reading_more: Committed, file: str) -> None:
    path = reading_more.folder / file
    text = path.read_text()
    path.write_text(text + "changed\n")
    try:
        assert reading_more.changed() == READ_BESIDES[file]
    finally:
        path.write_text(text)


def test_a_run_is_trained_after_the_one_it_starts_from(reading_more: Committed) -> None:
    edges = reading_more.dvc("dvc", "dag", "--dot", "train@soft_attention")

    assert '"train@mean_pool" -> "train@soft_attention"' in edges
