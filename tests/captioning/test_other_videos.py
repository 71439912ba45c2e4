"""A run on other videos than the stage's: files of their own, a fusion of them, and a challenge's submission."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core import DamageError
from pipeline.evaluation.comparison import find_evaluations
from pipeline.params import load_params
from pipeline.predictions import caption_command, read_prediction_file
from pipeline.report.paper_tables import read_tables
from pipeline.report.results import Sources
from tests.training.test_trainer import SETTINGS, make_project, train

VIDEOS = 40  # of which ten are test videos
GONE = ("gone0", "gone1")  # annotated, but only the released features have them


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the videos that are here, one on released features that have the others too, and VATEX's own files."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        make_project(folder, videos=VIDEOS)
        release_features()
        runs = {name: SETTINGS.model_dump() | {"epochs": 1, "features": {"appearance": store}} for name, store in RUNS}
        write_annotations(folder / "vatex")
        dataset = {"name": "vatex", "videos": "videos", "annotations": "vatex"}
        values = {"dataset": dataset, "extract": {}, "train": runs, "caption": {"beam": 2, "max_words": 6}}
        Path("params.yaml").write_text(json.dumps(values | {"evaluate": {"meteor": False, "tokenizer": "python"}}))
        for name, settings in runs.items():
            train(SETTINGS.model_validate(settings), f"runs/{name}")
    return folder


RUNS = (("here", "toy"), ("released", "toy_released"))


def release_features() -> None:
    """The store of another project: the same videos, and those that can no longer be downloaded."""
    from pipeline.store import open_store, write_store

    store = open_store(Path("features/toy"))
    features = {id_: store[id_] for id_ in store} | dict.fromkeys(GONE, store["v1"])
    write_store(Path("features/toy_released"), features, fingerprint={"weights": "random"})


def write_annotations(folder: Path) -> None:
    folder.mkdir()
    captions = json.loads(Path("data/captions/captions.json").read_text())
    for split, name in (("train", "training_v1.0"), ("val", "validation_v1.0"), ("test", "public_test_english_v1.1")):
        ids = captions["splits"][split] + (list(GONE) if split == "test" else [])
        records = [{"videoID": id_, "enCap": captions["captions"].get(id_, ["a ball moves"])} for id_ in ids]
        (folder / f"vatex_{name}.json").write_text(json.dumps(records))


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def run(*words: str) -> int:
    return main([*words, "--quiet"])


def predictions(name: str) -> dict[str, Any]:
    return json.loads(Path(f"predictions/{name}.json").read_text())


def test_a_run_is_captioned_and_scored_on_two_splits(project: Path) -> None:
    assert run("caption", "here", "--workers", "1") == 0
    test = Path("predictions/here.json").read_bytes()

    assert run("caption", "here", "--split", "val", "--workers", "1") == 0
    assert run("evaluate", "here", "here@val", "--workers", "1") == 0

    assert Path("predictions/here.json").read_bytes() == test
    assert (predictions("here")["split"], predictions("here@val")["split"]) == ("test", "val")
    assert [*predictions("here@val")["predictions"]] == sorted(f"v{number}" for number in range(24, 30))
    scores = {name: json.loads(Path(f"metrics/{name}/scores.json").read_text()) for name in ("here", "here@val")}
    assert (scores["here"]["videos"], scores["here@val"]["videos"]) == (10, 6)
    assert Path("evaluation/here@val.json").is_file()


def test_the_split_of_the_stage_asked_for_by_name_gives_the_same_sentences(project: Path) -> None:
    assert run("caption", "here", "--workers", "1") == 0
    assert run("caption", "here", "--split", "test", "--workers", "1") == 0

    assert predictions("here@test")["predictions"] == predictions("here")["predictions"]


def test_a_fusion_of_another_split_is_named_by_it_once(project: Path) -> None:
    assert run("caption", "here", "released", "--each", "--split", "val", "--workers", "1") == 0

    assert run("fuse", "here@val", "released@val", "--epochs", "1") == 0

    assert predictions("here-or-released@val")["split"] == "val"


def test_missing_videos_are_captioned_from_released_features_and_merged(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("caption", "here", "--workers", "1") == 0
    assert run("submission", "here") == 3
    told = capsys.readouterr().err
    assert "2 of 12 videos have no sentence in here: gone0, gone1" in told
    assert "framescribe caption RUN --ids FILE" in told
    assert not Path("submission.json").exists()

    Path("missing.txt").write_text("\n".join(GONE))
    assert run("caption", "released", "--ids", "missing.txt", "--workers", "1") == 0
    assert run("submission", "here", "released@missing") == 0

    merged = json.loads(Path("submission.json").read_text())
    here, released = predictions("here")["predictions"], predictions("released@missing")["predictions"]
    assert merged == {id_: each["caption"] for id_, each in (here | released).items()}
    assert [*merged][-2:] == list(GONE)  # the order of the data set
    references = "vatex/vatex_public_test_english_v1.1.json"
    told = ("--tokenizer", "python", "--no-meteor", "--resamples", "0", "--workers", "1")
    assert run("evaluate", "--predictions", "submission.json", "--references", references, *told) == 0
    assert json.loads(Path("metrics.json").read_text())["per_video"].keys() == merged.keys()


def test_the_first_with_a_word_in_it_counts(project: Path) -> None:
    from pipeline.core import write_sealed_json

    for name, said in (("empty", ""), ("full", "a ball")):
        entry = {"v30": {"caption": said, "words": said.split(), "log_prob": 0.0}}
        write_sealed_json(Path(f"predictions/{name}.json"), {"run": name, "split": "test", "predictions": entry})
    Path("one.json").write_text('[{"videoID": "v30"}]')

    assert run("submission", "empty", "full", "--ids", "one.json", "--out", "sent.json") == 0

    assert json.loads(Path("sent.json").read_text()) == {"v30": "a ball"}


def test_some_videos_may_be_left_out(project: Path) -> None:
    assert run("caption", "here", "--workers", "1") == 0

    assert run("submission", "here", "--partial", "--out", "some.json") == 0

    assert len(json.loads(Path("some.json").read_text())) == 10


@pytest.fixture(scope="module")
def all_scored(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, the same on another split, an ensemble, and a fusion of another split."""
    folder = tmp_path_factory.mktemp("scored")
    shutil.copytree(made, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        assert run("caption", "here", "--workers", "1") == 0
        assert run("caption", "here", "released", "--workers", "1") == 0
        assert run("caption", "here", "released", "--each", "--split", "val", "--workers", "1") == 0
        assert run("fuse", "here@val", "released@val", "--epochs", "1") == 0
        assert run("evaluate", *SCORED, "--workers", "1") == 0
    return folder


SCORED = ("here", "here@val", "here+released", "here-or-released@val")


@pytest.fixture
def scored(all_scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(all_scored, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", SCORED[1:])
def test_the_hint_for_a_damaged_result_makes_it_again(scored: Path, name: str) -> None:
    path = Path(f"evaluation/{name}.json")
    whole = damage(path)

    with pytest.raises(DamageError) as caught:
        find_evaluations(name, seeds=False)

    assert run(*caught.value.hint.split()[1:], "--workers", "1") == 0
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["here", "here@val", "here-or-released@val"])
@pytest.mark.parametrize("file", ["evaluation/NAME.json", "metrics/NAME/scores.json"])
def test_so_does_the_hint_of_the_papers_tables(
    scored: Path, name: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.report.paper_tables.runs_shown", lambda _: SCORED)
    path = Path(file.replace("NAME", name))
    whole = damage(path)

    with pytest.raises(DamageError) as caught:
        read_tables(load_params(), sources=Sources())

    assert run(*caught.value.hint.split()[1:], "--workers", "1") == 0
    assert path.read_bytes() == whole


def damage(path: Path) -> bytes:
    """What the whole file was."""
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return whole


def test_a_damaged_result_of_a_run_names_its_stage_too(scored: Path) -> None:
    damage(Path("evaluation/here.json"))

    with pytest.raises(DamageError) as caught:
        find_evaluations("here", seeds=False)

    assert caught.value.hint == "`framescribe evaluate here`, or `dvc repro --force evaluate@here`"


def test_files_that_were_scored_are_no_run(scored: Path) -> None:
    Path("mine.json").write_text("{")

    with pytest.raises(DamageError) as caught:
        find_evaluations("mine.json", seeds=False)

    assert caught.value.hint == "framescribe evaluate --predictions P --references R --out mine.json"


@pytest.mark.parametrize("name", SCORED)
def test_damaged_predictions_name_a_stage_only_where_there_is_one(scored: Path, name: str) -> None:
    path = Path(f"predictions/{name}.json")
    path.write_bytes(path.read_bytes()[:-9])

    with pytest.raises(DamageError) as caught:
        read_prediction_file(path, run=name)

    assert caption_command(name) in caught.value.hint
    assert ("dvc repro" in caught.value.hint) == (name == "here")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["caption", "here", "--split", "val", "--ids", "x.txt"], "give one"),
        (["caption", "clip.mp4", "--run", "here", "--split", "val"], "are for trained runs"),
        (["caption", "here", "--ids", "none.txt"], "none.txt does not exist"),
        (["caption", "here", "--ids", "empty.txt"], "lists no video"),
        (["caption", "here", "--ids", "twice.txt"], "lists v1 more than once"),
        (["caption", "here", "--ids", "numbers.json"], "each entry must be an id"),
        (["caption", "here", "--ids", "gone.txt"], "none of its 1 videos is in features/toy"),
        (["evaluate", "here@val"], "next: framescribe caption here --split val"),
        (["submission", "here"], "next: framescribe caption here"),
    ],
)
def test_what_is_refused(project: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"empty.txt": "", "twice.txt": "v1\nv1", "numbers.json": "[1]", "gone.txt": "gone0"}.items():
        Path(name).write_text(text)

    assert run(*words) in (2, 3)

    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a", "framescribe caption a"),
        ("a+b", "framescribe caption a b"),
        ("a+b@val", "framescribe caption a b --split val"),
        ("a@missing", "framescribe caption a --ids missing.json"),
        ("a-or-b", "framescribe fuse a b"),
        ("a-or-b@val", "framescribe fuse a@val b@val"),
    ],
)
def test_the_command_that_makes_predictions_again(name: str, command: str) -> None:
    assert caption_command(name) == command
