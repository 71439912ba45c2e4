"""Inputs edited while a stage runs: it ends with a message that names them, and what was there before is untouched."""

from __future__ import annotations

import importlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.cli import STAGES, main
from pipeline.core.errors import InputError
from pipeline.core.stage_inputs import UNGUARDED, unchanged
from pipeline.index.video_index import read_index
from pipeline.metrics.java import VARIABLE
from pipeline.report import report
from tests.store.making import TOY, add_toy_family

ROOT = Path(__file__).parents[1]
WORD = 8  # numbers of a word
PARAMS: dict[str, Any] = {
    "dataset": {"name": "demo", "videos": "data/demo/videos", "annotations": "data/demo/annotations.json"},
    "decode": {"max_failed": 0},
    "extract": {"toy": TOY},
    "assemble": {"min_count": 1, "max_words": 20},
    "train": {
        "run": {
            "model": "mean_pool",
            "features": {"appearance": "toy"},
            "tensors": {"appearance": "colour"},
            "options": {"word_size": WORD, "hidden_size": 8},
            "epochs": 2,
            "learning_rate": 0.001,
            "start_from": "none",
            "word_vectors": "weights/words/none.txt",
        }
    },
    "caption": {"beam": 2, "max_words": 20},
    "evaluate": {"meteor": False, "tokenizer": "python", "resamples": 10},
    "report": {"examples": 1},
}


@dataclass(frozen=True)
class Edited:
    """A stage, a function that it calls while it works, and all inputs that dvc.yaml names, as they are here."""

    command: list[str]
    moment: str  # module:function
    params: dict[str, Any]  # key -> another value
    files: dict[str, str]  # dependency in dvc.yaml -> a file of it
    outputs: list[str]


CASES = {
    "decode": Edited(
        ["decode", "--workers", "1"],
        "pipeline.decoding.decode:row_from",
        {"decode.max_failed": 3, "dataset.videos": "data/demo"},
        {},
        ["data/index"],
    ),
    "extract": Edited(
        ["extract", "toy"],
        "pipeline.extraction.extract:own_weights",
        {"extract.toy.sampling.count": 4, "extract.toy.outputs": ["colour"]},
        {"data/index": "data/index/times.npy"},
        ["features/toy"],
    ),
    "assemble": Edited(
        ["assemble"],
        "pipeline.datasets.assemble:match_videos",
        {"assemble.min_count": 2, "dataset.unmatched": "ignore", "decode.max_failed": 1},
        {"${dataset.annotations}": "data/demo/annotations.json", "data/index": "data/index/index.jsonl"},
        ["data/captions", "features/category"],
    ),
    "train": Edited(
        ["train", "run"],
        "pipeline.training.trainer:caption_videos",  # the validation after an epoch
        {"train.run.learning_rate": 0.01, "train.run.seed": 7, "assemble.max_words": 21},
        {
            "data/captions": "data/captions/captions.json",
            "features/${item.features.appearance}": "features/toy/store.json",
            "runs/${item.start_from}": "runs/base/run.json",
            "${item.word_vectors}": "weights/words/vectors.txt",
        },
        ["runs/run", "metrics/run/curves.csv"],
    ),
    "caption": Edited(
        ["caption", "run"],
        "pipeline.captioning.shards:caption_videos",
        {"caption.beam": 3},
        {
            "runs/${key}": "runs/run/model.safetensors",
            "data/captions": "data/captions/captions.json",
            "features/${item.features.appearance}": "features/toy/store.json",
        },
        ["predictions"],
    ),
    "evaluate": Edited(
        ["evaluate", "run"],
        "pipeline.evaluation.run_scores:intervals",
        {"evaluate.resamples": 20},
        {"predictions/${key}.json": "predictions/run.json", "data/captions": "data/captions/captions.json"},
        ["evaluation", "metrics/run/scores.json"],
    ),
    "report": Edited(
        ["report"],
        "pipeline.report.browser:film_of",
        {"report.examples": 2, "dataset.split": "file", "train.run.seed": 3, "extract.toy.max_failed": 2},
        {
            "predictions": "predictions/run.safetensors",
            "evaluation": "evaluation/run.json",
            "metrics": "metrics/run/scores.json",
            "runs": "runs/run/run.json",
            "features": "features/toy/store.json",
            "data/captions": "data/captions/statistics.json",
            "data/index": "data/index/index.jsonl",
            "workflows/papers": "described/papers/vre-msvd.yaml",
            "extractors/cards": "described/cards/i3d_rgb.yaml",
        },
        ["report", "tables"],
    ),
}
OTHER = {  # dependencies that are inputs of other kinds of runs, or checked against a hash that the stage holds
    "${dataset.videos}": "each video is hashed and decoded by itself; the index holds the hash",
    "data/weights/${key}.json": "a hash of weights, which extract reads itself: tests of their guard",
    **dict.fromkeys(["features/${item.features.motion}", "features/${item.features.regions}"], "as appearance"),
    "features/${item.features.sound}": "as appearance",
    "features/${item.features.label}": "as appearance",
    "data/weights": "the toy reads none: its data set is in no paper",
}
CODE = ("pipeline", "extractors", "models", "workflows")
DESCRIBED = ("workflows/papers", "extractors/cards")  # in folders of code, and no code


def graph() -> dict[str, Any]:
    stages = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: stage.get("do", stage) for name, stage in stages.items()}


@pytest.mark.parametrize("stage", STAGES)
def test_all_that_the_graph_names_is_edited_here(stage: str) -> None:
    inputs = {dep for dep in graph()[stage]["deps"] if dep.split("/")[0] not in CODE or dep in DESCRIBED}
    named = [key.replace("${key}", "run" if stage == "train" else "toy") for key in graph()[stage]["params"]]

    assert inputs - set(OTHER) == set(CASES[stage].files)
    assert all(any(f"{key}.".startswith(f"{name}.") for name in named) for key in CASES[stage].params)
    assert all(any(f"{key}.".startswith(f"{name}.") for key in CASES[stage].params) for name in named)


def write_params(values: dict[str, Any]) -> None:
    Path("params.yaml").write_text(json.dumps(values))


def with_value(key: str, value: Any) -> dict[str, Any]:
    changed = json.loads(json.dumps(PARAMS))
    *sections, last = key.split(".")
    place = changed
    for section in sections:
        place = place[section]
    place[last] = value
    return changed


def run(stage: str) -> int:
    return main([*CASES[stage].command, "--quiet", "--profile", "one.yaml"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole project, made by its commands."""
    folder = tmp_path_factory.mktemp("made")
    add_toy_family()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv(VARIABLE, "none")
        Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
        shutil.copytree(ROOT / "features/none", "features/none")
        for dep in DESCRIBED:
            shutil.copytree(ROOT / dep, Path("described", Path(dep).name))
        Path("weights/words").mkdir(parents=True)
        write_params(PARAMS)
        assert main(["demo-data", "--clips", "12", "--quiet"]) == 0
        for stage in STAGES:
            assert run(stage) == 0, stage
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "none")
    assert tuple(ROOT / dep for dep in DESCRIBED) == (report.RECIPES, report.CARDS)
    monkeypatch.setattr(report, "RECIPES", Path("described/papers"))  # copies, to be edited
    monkeypatch.setattr(report, "CARDS", Path("described/cards"))
    return tmp_path


def while_it_runs(stage: str, patch: pytest.MonkeyPatch, edit: Callable[[], None]) -> None:
    """Once, at a call of the stage's own work that is drawn at random among the first two."""
    module, name = CASES[stage].moment.split(":")
    home = importlib.import_module(module)
    work, calls, drawn = getattr(home, name), [0], random.Random(stage).choice([1, 2])

    def disturbed(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        done = work(*args, **kwargs)
        if calls[0] == min(drawn, _calls(stage)):
            edit()
        return done

    patch.setattr(home, name, disturbed)


def _calls(stage: str) -> int:
    return 1 if stage in ("extract", "assemble", "caption", "evaluate") else 2


def bytes_of(names: list[str]) -> dict[str, bytes]:
    paths = [path for name in names for path in ([Path(name)] if Path(name).is_file() else Path(name).rglob("*"))]
    return {str(path): path.read_bytes() for path in paths if path.is_file()}


@pytest.mark.parametrize(("stage", "key"), [(stage, key) for stage, case in CASES.items() for key in case.params])
def test_a_value_edited_meanwhile(
    stage: str, key: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bytes_of(CASES[stage].outputs)
    assert before
    value = CASES[stage].params[key]
    while_it_runs(stage, monkeypatch, lambda: write_params(with_value(key, value)))

    assert run(stage) == 3

    told = capsys.readouterr().err
    assert f"{key} in params.yaml: " in told
    assert f"-> {value!r}" in told
    assert "nothing was published" in told
    assert "next: run the same command" in told
    assert bytes_of(CASES[stage].outputs) == before


@pytest.mark.parametrize(("stage", "dep"), [(stage, dep) for stage, case in CASES.items() for dep in case.files])
def test_a_file_edited_meanwhile(
    stage: str, dep: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(CASES[stage].files[dep])
    if dep == "${item.word_vectors}":
        file.write_text(f"a {' '.join(['0.5'] * WORD)}\n")
        write_params(with_value("train.run.word_vectors", str(file)))
    if dep == "runs/${item.start_from}":
        shutil.copytree("runs/run", file.parent)
        write_params(with_value("train.run.start_from", file.parent.name))
    before = bytes_of(CASES[stage].outputs)
    while_it_runs(stage, monkeypatch, lambda: append(file))

    assert run(stage) == 3

    told = capsys.readouterr().err
    assert str(file) in told
    assert "nothing was published" in told
    assert bytes_of(CASES[stage].outputs) == before


FOLDER = Path("data/demo/videos")
LISTED = {  # how the folder changes -> what is told
    "added": (lambda: shutil.copy(FOLDER / "video3.mp4", FOLDER / "new.mp4"), "videos/new.mp4 is new;"),
    "added below": (lambda: shutil.copytree(FOLDER, FOLDER / "more/deep", copy_function=as_other), "is new;"),
    "removed": (lambda: (FOLDER / "video5.mp4").unlink(), "videos/video5.mp4 is gone;"),
    "moved": (lambda: (FOLDER / "video5.mp4").rename("data/video5.mp4"), "videos/video5.mp4 is gone;"),
    "renamed": (lambda: (FOLDER / "video5.mp4").rename(FOLDER / "other.mp4"), "other.mp4 is new; "),
    "another content": (lambda: append(FOLDER / "video0.mp4"), "changed while this ran: data/demo/videos/video0.mp4;"),
    "swapped": (lambda: exchange("video0.mp4", "video1.mp4"), "videos/video0.mp4; data/demo/videos/video1.mp4;"),
    "all gone": (lambda: FOLDER.rename("data/elsewhere"), "there is no 'data/demo/videos'"),
}


def as_other(source: str, target: str) -> None:
    shutil.copy(source, Path(target).with_stem(f"other-{Path(target).stem}"))


def exchange(one: str, other: str) -> None:
    (FOLDER / one).rename(".kept")
    (FOLDER / other).rename(FOLDER / one)
    Path(".kept").rename(FOLDER / other)


@pytest.mark.parametrize("how", LISTED)
def test_videos_added_removed_or_edited_meanwhile(
    how: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DVC records the folder as it is when the command ends, so the index must be of the same files."""
    change, told = LISTED[how]
    before = bytes_of(CASES["decode"].outputs)
    with monkeypatch.context() as patch:
        while_it_runs("decode", patch, change)
        assert run("decode") == 3
    assert told in capsys.readouterr().err
    assert bytes_of(CASES["decode"].outputs) == before

    if FOLDER.exists():
        assert run("decode") == 0
        assert {row.path for row in read_index(Path("data/index")).rows.values()} == {*map(str, FOLDER.rglob("*.mp4"))}


def test_a_touched_video_and_what_lies_beside_videos_do_not_matter(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def harmless() -> None:
        (FOLDER / "notes.txt").write_text("no video")
        (FOLDER / "video0.mp4").touch()
        Path(shutil.copy(FOLDER / "video1.mp4", ".copy")).rename(FOLDER / "video1.mp4")

    while_it_runs("decode", monkeypatch, harmless)

    assert run("decode") == 0


def append(file: Path) -> None:
    """A new file of the name: one that is mapped into memory stays as it was."""
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data + b"\n")


@pytest.mark.parametrize("stage", STAGES)
def test_the_same_command_is_right_afterwards(stage: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edited meanwhile and run again gives what the edited project gives at once."""
    key, value = next(iter(CASES[stage].params.items()))
    if key == "decode.max_failed":
        key, value = "decode.timeout", 61.0
    with monkeypatch.context() as patch:
        while_it_runs(stage, patch, lambda: write_params(with_value(key, value)))
        assert run(stage) == 3
    assert run(stage) == 0
    after = bytes_of(CASES[stage].outputs)
    if stage != "report":  # which shows how fast the cache was filled
        shutil.rmtree(".cache")

    assert run(stage) == 0
    assert bytes_of(CASES[stage].outputs) == after


@pytest.mark.parametrize("stage", STAGES)
def test_a_value_of_another_stage_may_be_edited(stage: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ("evaluate.resamples", 30) if stage != "evaluate" else ("caption.beam", 4)
    before = bytes_of(CASES[stage].outputs)
    while_it_runs(stage, monkeypatch, lambda: write_params(with_value(*other)))

    assert run(stage) == 0
    assert bytes_of(CASES[stage].outputs) == before


def test_params_that_cannot_be_read_any_more_are_told(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    while_it_runs("caption", monkeypatch, lambda: Path("params.yaml").unlink())

    assert run("caption") == 3
    assert "params.yaml, which cannot be used now" in capsys.readouterr().err


def test_an_input_that_changes_after_publishing_is_an_error_too(tmp_path: Path) -> None:
    """DVC would record it as what the outputs were made of."""
    file = tmp_path / "a"
    file.write_text("1")

    def stage() -> None:
        with unchanged([file]) as inputs:
            inputs.require_unchanged()
            file.write_text("2")

    with pytest.raises(InputError, match=r"a; what was published is of the inputs before"):
        stage()


def test_new_and_gone_files_are_told_and_unfinished_ones_are_not(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    with unchanged([tmp_path]) as inputs:
        (tmp_path / ".a.host-1-1.tmp").write_text("half")
        inputs.require_unchanged()
        (tmp_path / "a").rename(tmp_path / "c")
        with pytest.raises(InputError, match=r"a is gone; \S+c is new; nothing was published"):
            inputs.require_unchanged()
        (tmp_path / "c").rename(tmp_path / "a")
    UNGUARDED.require_unchanged()
