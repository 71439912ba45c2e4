"""A small project as `make demo` leaves one, with an untrained network and a run of two epochs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.corpus.vocabulary import Vocabulary, write_vocabulary
from tests.clips import tone, write_clip

VIDEOS = {"video0": 18, "video1": 30, "video2": 40}  # frames
PARAMS = {
    "dataset": {"name": "demo", "videos": "data/demo/videos", "annotations": "none"},
    "extract": {
        "mobilenet_v2": {
            "family": "frames",
            "network": "mobilenet_v2",
            "weights": "random",
            "sampling": {"every": 8},
        },
        "soundnet": {
            "family": "soundnet",
            "network": "soundnet8",
            "weights": "random",
            "sampling": {"hop": 0.5, "tail": "pad"},
            "options": {"seconds": 1.0},
        },
    },
    "train": {
        "soft_attention": {
            "model": "soft_attention",
            "features": {"appearance": "mobilenet_v2"},
            "options": {"hidden_size": 16, "word_size": 8, "attention_size": 8},
            "epochs": 2,
            "learning_rate": 0.02,
            "batch_size": 4,
        }
    },
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", "cache")
        clips = Path(PARAMS["dataset"]["videos"])
        clips.mkdir(parents=True)
        for name, frames in VIDEOS.items():
            write_clip(clips / f"{name}.mp4", frames=frames, sound=tone(1, rate=16000))
        Path("params.yaml").write_text(json.dumps(PARAMS))
        captions = {name: [f"a {name} clip moves", f"the clip is {name}"] for name in VIDEOS}
        corpus = Corpus({"train": list(VIDEOS), "val": list(VIDEOS), "test": list(VIDEOS)}, captions)
        write_corpus(Path("data/captions"), corpus)
        write_vocabulary(Path("data/captions/vocabulary.json"), Vocabulary.build(corpus.sentences("train")))
        for command in ("decode", "extract mobilenet_v2", "extract soundnet", "train soft_attention"):
            assert main([*command.split(), "--quiet"]) == 0
    return folder


@pytest.fixture
def project(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "cache")
    return made
