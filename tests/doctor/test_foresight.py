"""Before the hours are spent: every value of params.yaml that would end a stage later is found now, with its fix."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.core.errors import MissingToolError
from pipeline.doctor import examination, foresight
from pipeline.doctor.check import Check
from pipeline.extraction import build_extractor
from pipeline.papers.applying import applied
from pipeline.papers.recipes import known_recipes
from pipeline.params.dataset import Dataset
from pipeline.params.file import Params, parse_params

FRAMES = {"family": "frames", "network": "mobilenet_v2", "weights": "mobilenet_v2", "sampling": {"every": 5}}
VALUES: dict[str, Any] = {
    "dataset": {"name": "demo", "videos": "videos", "annotations": "annotations.json"},
    "extract": {"frames": FRAMES},
    "train": {"mean": {"model": "mean_pool", "features": {"appearance": "frames"}}},
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planned(**changes: Any) -> Params:
    """`extract__frames__network="x"` changes one value."""
    values = parse_params(VALUES, source="test").model_dump(exclude_unset=True)
    for key, value in changes.items():
        *sections, last = key.split("__")
        place = values
        for section in sections:
            place = place[section]
        place[last] = value
    return parse_params(values, source="test")


def missing(params: Params) -> list[Check]:
    return [check for check in foresight.check_plan(params) if check.state == "missing"]


def test_what_can_run_is_all_right() -> None:
    assert missing(planned()) == []


@pytest.mark.parametrize(
    ("changes", "name", "words", "fix"),
    [
        ({"extract__frames__outputs": ["pol"]}, "features frames", "no output ['pol']", "extract.frames"),
        ({"extract__frames__network": "mobilnet"}, "features frames", "mobilnet", "extract.frames"),
        ({"extract__frames__family": "frame"}, "features frames", "no extractor family 'frame'", "extract.frames"),
        ({"extract__frames__sampling": {"hop": 1.0}}, "features frames", "its sampling must give", "extract.frames"),
        ({"extract__frames__options": {"sid": 1}}, "features frames", "no option sid", "extract.frames"),
        ({"train__mean__features": {"appearance": "c3d"}}, "run mean", "store 'c3d', which no", "extractors add c3d"),
        ({"train__mean__features": {}}, "run mean", "reads 'appearance'", "set features.appearance"),
        ({"train__mean__tensors": {"appearance": "grid"}}, "run mean", "reads 'grid' of 'frames'", "add 'grid' to"),
        ({"dataset__split": "dualafr"}, "dataset.split", "'demo' has no split rule 'dualafr'", "dataset.split"),
        (
            {"dataset__name": "msvd", "train__mean__features": {"appearance": "frames", "label": "category"}},
            "run mean",
            "'msvd' gives its videos no class",
            "set features.label to none",
        ),
        ({"train__mean__model": "men_pool"}, "run mean", "no model 'men_pool'", "train.mean"),
        ({"train__mean__options": {"hiden_size": 3}}, "run mean", "no option hiden_size", "train.mean"),
        ({"train__mean__stage": "joint"}, "run mean", "no stage 'joint'", "train.mean"),
        ({"train__mean__word_vectors": "weights/words/a.txt"}, "run mean", "a.txt are missing", "put them there"),
        ({"train__mean__start_from": "gone"}, "run mean", "start_from is 'gone'", "train.mean"),
    ],
)
def test_what_would_end_a_stage_later_is_named_with_its_fix(
    changes: dict[str, Any], name: str, words: str, fix: str
) -> None:
    (check,) = missing(planned(**changes))

    assert check.name == name
    assert words in check.detail
    assert fix in check.fix
    assert check.blocks


def test_one_lack_of_several_runs_is_told_once() -> None:
    other = {"model": "soft_attention", "features": {"appearance": "frames"}, "word_vectors": "w.txt"}

    (check,) = missing(planned(train={"a": other, "b": other}))

    assert check.blocks == "train@a, train@b"


@pytest.mark.parametrize("nothing", ["", "weights/words/none.txt"])
def test_no_word_vectors_are_no_lack(nothing: str) -> None:
    assert missing(planned(train__mean__word_vectors=nothing)) == []


def test_a_package_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: Any, **__: Any) -> None:
        raise MissingToolError(
            "slow_r50 needs the package pytorchvideo", hint="pip install 'framescribe[pytorchvideo]'"
        )

    monkeypatch.setattr(build_extractor, "load_extractor", build)

    assert missing(planned())[0].fix == "pip install 'framescribe[pytorchvideo]'"


def test_a_jar_is_asked_for_only_by_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Path:
        raise MissingToolError(f"{name} is absent", hint="pip install it")

    monkeypatch.setattr(foresight.metrics, "jar_path", absent)
    rewarded = [{"rewards": {"meteor": 1.0}, "epochs": 1}]
    without = {"evaluate": {"meteor": False, "tokenizer": "python", "spice": False}}

    assert [check.blocks for check in missing(planned())] == ["evaluate", "evaluate"]
    assert missing(planned(**without)) == []
    assert [check.blocks for check in missing(planned(**without, train__mean__then=rewarded))] == ["train@mean"]


def test_spice_that_was_not_supplied_is_a_word_and_no_lack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FRAMESCRIBE_SPICE", str(tmp_path))

    (check,) = [check for check in foresight.check_plan(planned()) if check.name == "SPICE"]

    assert check.state == "warn"
    assert "evaluate.spice: false" in check.fix


def test_features_are_held_against_the_free_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of MSR-VTT's 10,000 clips at 25 frames a second, every fifth frame: 74 rows of 1,280 numbers, twice."""
    usage = shutil.disk_usage(tmp_path)
    msrvtt = planned(dataset={"name": "msrvtt", "videos": "videos", "annotations": "a.json"})
    needed = 2 * 10_000 * 74 * 1280 * 4

    for free, state in ((needed, "ok"), (needed - 1, "missing")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        (check,) = [check for check in foresight.check_plan(msrvtt) if check.name == "disk, features"]
        assert check.state == state
        assert "7.6 GB for 10000 videos" in check.detail


def test_the_doctor_asks_about_the_plan(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (project / "params.yaml").read_text().replace("motion: i3d_rgb", "motion: i3d_rbg")
    (project / "params.yaml").write_text(text)
    monkeypatch.setattr(examination, "_side_by_side", lambda *jobs: dict(jobs)["features and runs"]())

    found = examination.examine()

    assert ["i3d_rbg" in check.detail for check in found if check.state == "missing"] == [True]


@pytest.mark.slow
@pytest.mark.parametrize("name", known_recipes())
def test_every_recipe_lacks_nothing_but_files(name: str, project: Path) -> None:
    """All networks are built: outputs, options and models fit each other."""
    params = parse_params(YAML(typ="safe").load(applied(name)), source=name)
    (project / "params.yaml").write_text(applied(name))
    params = params.model_copy(update={"dataset": Dataset(name="demo", videos="videos", annotations="a")})

    assert all("word vectors" in check.detail for check in missing(params))
