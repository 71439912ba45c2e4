"""Captioning by workers: the same bytes as in this process, whoever captioned which batch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline.captioner.generate import BATCH
from pipeline.captioning import shards
from pipeline.captioning.shards import WORTH, CaptionShard, VideoBatch, shards_of, state_now, worth_it
from pipeline.cli import main
from pipeline.core.errors import InputError
from pipeline.core.executors import InProcess, LocalProcesses
from pipeline.params.caption import Caption
from tests.training.test_trainer import SETTINGS, make_project, train

PARAMS = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "extract": {}}
CAPTIONS = Path("data/captions")
TESTED = (WORTH - 1) * BATCH + 5  # videos; the last batch is not full


def make_runs(folder: Path) -> None:
    """Two runs of one epoch, and a test split just large enough for workers; call it in `folder`."""
    make_project(folder, videos=30 + TESTED)
    runs = {name: SETTINGS.model_dump() | {"epochs": 1, "seed": seed} for seed, name in enumerate(("one", "two"))}
    Path("params.yaml").write_text(json.dumps(PARAMS | {"train": runs, "caption": {"beam": 2, "max_words": 6}}))
    for name, settings in runs.items():
        train(SETTINGS.model_validate(settings), f"runs/{name}")


def written(folder: str, *names: str) -> dict[str, bytes]:
    paths = [Path(folder, f"{name}{ending}") for name in names for ending in (".json", ".safetensors")]
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        make_runs(folder)
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_processes_change_no_byte(project: Path) -> None:
    """Two runs each by itself and both as one."""
    assert main(["caption", "one", "two", "--each", "--workers", "1", "--quiet"]) == 0
    here = written("predictions", "one", "two")
    assert len(json.loads(here["one.json"])["predictions"]) == TESTED
    assert here["one.json"] != here["two.json"].replace(b'"two"', b'"one"')
    for path in Path("predictions").iterdir():
        path.unlink()

    assert main(["caption", "one", "two", "--each", "--workers", "2", "--quiet"]) == 0

    assert written("predictions", "one", "two") == here
    assert main(["caption", "one", "--workers", "1", "--out", "alone/one.json", "--quiet"]) == 0
    assert written("alone", "one") == written("predictions", "one")


def test_a_consensus_is_the_same_by_workers(project: Path) -> None:
    caption = {"search": "consensus", "samples": 4, "max_words": 6, "neighbours": 2, "neighbours_in": "words"}
    values = json.loads(Path("params.yaml").read_text())
    Path("params.yaml").write_text(json.dumps(values | {"caption": caption}))
    assert main(["caption", "one", "--workers", "1", "--quiet"]) == 0
    here = written("predictions", "one")
    origin = json.loads(Path("predictions/one.origin.json").read_text())
    assert origin["settings"]["search"] == "consensus"
    assert "beam" not in origin["settings"]

    assert main(["caption", "one", "--workers", "2", "--quiet"]) == 0

    assert written("predictions", "one") == here


def many_batches(count: int) -> list[VideoBatch]:
    return [VideoBatch("run", number, (), "", ()) for number in range(count)]


def test_few_batches_start_no_worker() -> None:
    executor = LocalProcesses(2)

    assert worth_it(executor, many_batches(WORTH), device="cpu") is executor
    assert isinstance(worth_it(executor, many_batches(WORTH - 1), device="cpu"), InProcess)


def test_a_device_that_is_not_here_is_looked_for_at_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = LocalProcesses(2)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert worth_it(executor, many_batches(1), device="cuda") is executor
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert isinstance(worth_it(executor, many_batches(1), device="cuda"), InProcess)


def test_a_worker_opens_a_run_once_and_again_when_it_changed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards._opened.cache_clear()  # the same run may have been opened by another test
    opened, open_caption_model = [], shards.open_caption_model
    monkeypatch.setattr(
        shards, "open_caption_model", lambda *args, **kw: opened.append(args) or open_caption_model(*args, **kw)
    )
    work, folders = CaptionShard(Caption(beam=1, max_words=3), "cpu", CAPTIONS), [Path("runs/one")]
    first, second = list(shards_of("one", folders, [f"v{number}" for number in range(BATCH + 1)], captions=CAPTIONS))
    assert (first.id, second.id, len(first.video_ids), len(second.video_ids)) == ("one 0", "one 1", BATCH, 1)
    work(first)
    work(second)
    assert len(opened) == 1

    Path("runs/one/model.safetensors").write_bytes(Path("runs/two/model.safetensors").read_bytes())

    with pytest.raises(InputError, match="changed while it was captioning"):
        work(VideoBatch("one", 0, tuple(folders), "what it was", first.video_ids))
    (again,) = shards_of("one", folders, ["v0"], captions=CAPTIONS)
    assert again.state != first.state
    assert again.state == state_now(folders, CAPTIONS)
    work(again)
    assert len(opened) == 2


def test_a_split_without_videos(project: Path) -> None:
    (empty,) = shards_of("one", [Path("runs/one")], [], captions=CAPTIONS)
    assert CaptionShard(Caption(), "cpu", CAPTIONS)(empty).predictions == {}


def test_what_each_refuses(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", "one", "two", "--each", "--out", "x.json"]) == 2
    assert "--out is the file of one run" in capsys.readouterr().err
    assert main(["caption", "one", "--workers", "0"]) == 2
    assert "workers" in capsys.readouterr().err
