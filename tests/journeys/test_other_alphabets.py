"""Captions in Chinese, from the annotations to the scores: what the docs say, and what is told on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.cli import main
from pipeline.core import read_sealed_json, write_sealed_json

COLOURS = ("红", "绿", "蓝")
SPLITS = {"training": range(24), "validation": range(24, 30)}
RUN = {"model": "mean_pool", "features": {"appearance": "own"}, "options": {"hidden_size": 24, "word_size": 12}}
REWARDED = {"epochs": 1, "rewards": {"cider": 1.0}, "learning_rate": 0.0001}
PARAMS: dict[str, Any] = {
    "dataset": {"name": "vatex", "videos": "videos", "annotations": "vatex", "split": "chinese"},
    "assemble": {"words": "unicode"},
    "extract": {},
    "train": {"run": RUN | {"epochs": 12, "patience": 12, "learning_rate": 0.02, "batch_size": 8, "then": [REWARDED]}},
    "caption": {"beam": 1, "split": "val"},
    "evaluate": {"tokenizer": "unicode", "meteor": False, "resamples": 10},
}


def write_params(**changes: Any) -> None:
    values = {name: value | changes.get(name, {}) for name, value in PARAMS.items()}
    Path("params.yaml").write_text(json.dumps(values, ensure_ascii=False))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Features of one colour a video, imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "cache")
    Path("vatex").mkdir()
    for split, numbers in SPLITS.items():
        videos = [(number, COLOURS[number % 3]) for number in numbers]
        found = [
            {"videoID": f"v{n}", "enCap": ["a ball"], "chCap": [f"一个{c}色的球在滚动。", f"{c}色的球，滚动"]}
            for n, c in videos
        ]
        Path(f"vatex/vatex_{split}_v1.0.json").write_text(json.dumps(found))
    feat = np.random.default_rng(0).normal(0, 0.1, (30, 4, 6)).astype(np.float32)
    for number in range(30):
        feat[number, :, number % 3] += 3
    np.savez("own.npz", ids=np.array([f"v{number}" for number in range(30)]), feat=feat)
    write_params()
    assert main(["store", "import", "own.npz", "own", "--tensor", "pool", "--quiet"]) == 0
    return tmp_path


def test_chinese_captions_are_learnt_and_scored(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("assemble --store features/own", "train run", "caption run", "evaluate run"):
        assert main([*line.split(), "--quiet"]) == 0, line

    words = read_sealed_json(Path("data/captions/vocabulary.json"), hint="")["words"]
    assert sorted(words[4:]) == sorted("一个红绿蓝色的球在滚动")
    said = read_sealed_json(Path("predictions/run.json"), hint="")["predictions"]
    assert {video: COLOURS[int(video[1:]) % 3] in each["caption"] for video, each in said.items()} == dict.fromkeys(
        [f"v{number}" for number in SPLITS["validation"]], True
    )
    scores = read_sealed_json(Path("metrics/run/scores.json"), hint="")
    assert scores["scores"]["CIDEr-D"] > 1
    assert scores["scores"]["CIDEr-D"] > scores["most_frequent_caption"]["CIDEr-D"]
    assert "METEOR" not in scores["scores"]
    facts = read_sealed_json(Path("evaluation/run.json"), hint="")["provenance"]
    assert (facts["tokenizer"], facts["java"], facts.get("remarks")) == ("unicode", None, None)


def test_words_that_are_only_latin_are_refused_with_the_key(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_params(assemble={"words": "latin"})

    assert main(["assemble", "--store", "features/own"]) == 3
    told = capsys.readouterr().err
    assert "have no word in a-z or 0-9 (30)" in told
    assert "`words: unicode` in the section assemble" in told


@pytest.mark.parametrize(
    ("evaluate", "told"),
    [
        ({"tokenizer": "ptb"}, "evaluate: {tokenizer: unicode, meteor: false}"),
        ({"meteor": True}, "METEOR knows English words alone"),
    ],
)
def test_scores_that_would_say_nothing_are_refused(
    project: Path, evaluate: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["assemble", "--store", "features/own", "--quiet"]) == 0
    said = {f"v{number}": {"caption": "球", "log_prob": -1.0} for number in SPLITS["validation"]}
    write_sealed_json(Path("predictions/run.json"), {"run": "run", "split": "val", "predictions": said})
    write_params(evaluate=evaluate)

    assert main(["evaluate", "run"]) == 2
    assert told in capsys.readouterr().err


def test_files_are_scored_by_characters_too(project: Path) -> None:
    Path("said.json").write_text(json.dumps({"a": "一个人", "b": "两只狗"}))
    Path("known.json").write_text(json.dumps({"a": ["一 个 人。"], "b": ["两只猫"]}))
    options = ["--tokenizer", "unicode", "--no-meteor", "--quiet"]

    assert main(["evaluate", "--predictions", "said.json", "--references", "known.json", *options]) == 0
    scores = read_sealed_json(Path("metrics.json"), hint="")["scores"]
    assert scores["BLEU-1"] == pytest.approx(5 / 6)
