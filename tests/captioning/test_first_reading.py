"""The sentence after VRE's first reading: asked for it stands beside the caption, and nothing else changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from models.parts.ensemble import Ensemble
from models.vre import Vre
from pipeline.captioner import Search, caption_videos, open_run
from pipeline.cli import main
from tests.training.test_trainer import SETTINGS, make_project, train

DATASET = {"name": "demo", "videos": "videos", "annotations": "none"}
RUNS = {
    "twice": SETTINGS.model_dump() | {"model": "vre", "options": {"hidden_size": 16}, "epochs": 4},
    "once": SETTINGS.model_dump() | {"epochs": 1},
}
SEARCH = {"beam": 2, "max_words": 6}
ENDINGS = (".json", ".origin.json", ".safetensors")


def write_params(**caption: object) -> None:
    values = {"dataset": DATASET, "extract": {}, "train": RUNS, "caption": SEARCH | caption}
    Path("params.yaml").write_text(json.dumps(values))


def captioned(name: str) -> dict[str, bytes]:
    assert main(["caption", *name.split("+"), "--workers", "1"]) == 0
    return {ending: Path(f"predictions/{name}{ending}").read_bytes() for ending in ENDINGS}


def entries(written: dict[str, bytes]) -> dict[str, Any]:
    return json.loads(written[".json"])["predictions"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        make_project(folder)
        for name, settings in RUNS.items():
            train(SETTINGS.model_validate(settings), f"runs/{name}")
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_both_sentences_come_out_and_the_caption_stays(project: Path) -> None:
    write_params()
    before = captioned("twice")
    assert all(set(entry) == {"caption", "log_prob", "words"} for entry in entries(before).values())
    assert set(json.loads(before[".origin.json"])["settings"]) == {"beam", "max_words", "length_power", "split"}
    write_params(first_reading=False)
    assert captioned("twice") == before
    write_params(first_reading=True)

    asked = captioned("twice")

    found = entries(asked)
    assert all(isinstance(entry.pop("first_reading"), str) for entry in found.values())
    assert found == entries(before)
    assert asked[".safetensors"] == before[".safetensors"]


def test_it_is_the_search_with_the_second_reading_switched_off(project: Path) -> None:
    run = open_run(Path("runs/twice"), device="cpu")
    assert isinstance(run.model, Vre)
    torch.manual_seed(3)
    for parameter in run.model.parameters():
        parameter.data.normal_(0, 0.8)  # so that the two readings say different things
    settings = {"vocabulary": run.vocabulary, "search": Search(beam=3, max_words=6)}
    videos = [f"v{number}" for number in range(12)]
    both = caption_videos(run.model, run.source, videos, **settings, first_reading=True)

    once = Vre(vocabulary=len(run.vocabulary), sizes={"appearance": 5}, hidden_size=16, watch="once")
    known = once.state_dict()
    once.load_state_dict({name: each for name, each in run.model.state_dict().items() if name in known})
    alone = caption_videos(once, run.source, videos, **settings, first_reading=True)

    assert {video: each.first_reading for video, each in both.items()} == {v: each.caption for v, each in alone.items()}
    assert any(each.first_reading != each.caption for each in both.values())
    assert all(each.first_reading is None for each in alone.values())


def test_a_run_that_reads_once_is_captioned_as_ever_and_it_is_said(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_params()
    before = captioned("once")
    assert "caption.first_reading" not in capsys.readouterr().out
    write_params(first_reading=True)

    assert captioned("once") == before

    assert "caption.first_reading adds nothing to the captions of once: only vre" in capsys.readouterr().out


def test_an_ensemble_has_one_where_all_members_have(project: Path) -> None:
    twice, once = (open_run(Path(f"runs/{name}"), device="cpu") for name in ("twice", "once"))
    features = twice.source.batch(["v1", "v2"])
    given = {f"{number} {name}": each for number in range(2) for name, each in features.items()}
    pair, mixed = Ensemble([twice.model, twice.model]).eval(), Ensemble([twice.model, once.model]).eval()

    first = pair.first_reading(pair.encode(given))

    assert first is not None
    assert torch.equal(first["1 video"], twice.model.eval().encode(features)["first"])
    assert mixed.first_reading(mixed.encode(given)) is None
