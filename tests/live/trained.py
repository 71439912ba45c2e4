"""A small project with two trained runs, as `framescribe serve` finds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.corpus.vocabulary import Vocabulary, write_vocabulary
from tests.clips import write_clip

VIDEOS = {"red": 20, "green": 30, "blue": 40}
RUNS = ("first", "second")
_FRAMES = {"family": "frames", "network": "squeezenet1_1", "weights": "random", "sampling": {"count": 3}}
_RUN = {"epochs": 20, "patience": 20, "learning_rate": 0.02, "batch_size": 4}
DATASET = {"name": "demo", "videos": "videos", "annotations": "none"}
PARAMS: dict[str, Any] = {
    "extract": {"toy": _FRAMES | {"outputs": ["pool"]}},
    "train": {
        "first": _RUN
        | {
            "model": "soft_attention",
            "features": {"appearance": "toy"},
            "options": {"hidden_size": 16, "word_size": 8, "attention_size": 8},
        },
        "second": _RUN
        | {"model": "mean_pool", "features": {"appearance": "toy"}, "options": {"hidden_size": 16, "word_size": 8}},
    },
}


def make_project(folder: Path) -> None:
    prepare_project(folder, PARAMS)


def prepare_project(folder: Path, params: dict[str, Any]) -> None:
    """With the stores and the runs of `params` made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", "cache")
        Path("videos").mkdir()
        for name, frames in VIDEOS.items():
            write_clip(Path("videos") / f"{name}.mp4", frames=frames)
        Path("params.yaml").write_text(json.dumps({"dataset": DATASET, "decode": {"stall": 8.0}} | params))
        Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
        captions = {name: [f"a {name} clip moves", f"the clip is {name}"] for name in VIDEOS}
        corpus = Corpus({"train": list(VIDEOS), "val": list(VIDEOS), "test": list(VIDEOS)}, captions)
        write_corpus(Path("data/captions"), corpus)
        write_vocabulary(Path("data/captions/vocabulary.json"), Vocabulary.build(corpus.sentences("train")))
        for arguments in (["decode"], ["extract", *params["extract"]], ["train", *params["train"]]):
            assert main([*arguments, "--quiet", "--profile", "one.yaml"]) == 0
