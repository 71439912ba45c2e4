"""A small project with a trained and evaluated run on features of weights of the user's own, made by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torchvision.models import get_model

from pipeline.cli import main
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.corpus.vocabulary import Vocabulary, write_vocabulary
from tests.clips import write_clip

VIDEOS = {"red": 12, "green": 14, "blue": 16}
ENTRY = {"family": "frames", "network": "squeezenet1_1", "sampling": {"count": 2}, "outputs": ["pool"]}
RUN = {"model": "mean_pool", "options": {"hidden_size": 16, "word_size": 8}, "epochs": 30, "patience": 30}
PARAMS = {
    "dataset": {"name": "folder", "videos": "videos", "annotations": "captions.csv"},
    "extract": {"own": ENTRY | {"weights": "mine"}, "untrained": ENTRY | {"weights": "random"}},
    "train": {
        "run": RUN | {"features": {"appearance": "own"}, "learning_rate": 0.02},
        "raw": RUN | {"features": {"appearance": "untrained"}, "epochs": 1},
        "words_at_once": RUN
        | {
            "model": "transformer",
            "features": {"appearance": "own"},
            "options": {"hidden_size": 16, "word_size": 8, "heads": 2, "dropout": 0.0},
            "epochs": 1,
            "weight_average": 0.5,
        },
    },
    "caption": {"beam": 3, "max_words": 7, "length_power": 0.5},
    "evaluate": {"meteor": False, "tokenizer": "python", "resamples": 10},
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", "cache")
        Path("videos").mkdir()
        for name, frames in VIDEOS.items():
            write_clip(Path("videos") / f"{name}.mp4", frames=frames)
        Path("params.yaml").write_text(json.dumps(PARAMS))
        captions = {name: [f"a {name} clip moves", f"the clip is {name}"] for name in VIDEOS}
        corpus = Corpus({"train": list(VIDEOS), "val": list(VIDEOS), "test": list(VIDEOS)}, captions)
        write_corpus(Path("data/captions"), corpus)
        write_vocabulary(Path("data/captions/vocabulary.json"), Vocabulary.build(corpus.sentences("train")))
        torch.manual_seed(0)
        torch.save(get_model("squeezenet1_1", weights=None).state_dict(), "mine.pth")
        for line in (
            "weights import mine mine.pth --network torchvision:squeezenet1_1",
            "decode",
            "extract own untrained",
            "train run raw words_at_once",
            "caption run",
            "evaluate run",
            "caption videos/green.mp4 --run run --out said.json",
            "runs export run exported/bare.run",
            "runs export run exported/whole.run --weights",
            "runs export raw exported/raw.run",
            "runs export words_at_once exported/words_at_once.run --weights",
        ):
            assert main([*line.split(), "--quiet"]) == 0, line
    return folder


@pytest.fixture
def project(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "cache")
    return trained


@pytest.fixture
def elsewhere(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder but for a clip."""
    (tmp_path / "clip.mp4").write_bytes((trained / "videos/green.mp4").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FRAMESCRIBE_CACHE", raising=False)
    return tmp_path
