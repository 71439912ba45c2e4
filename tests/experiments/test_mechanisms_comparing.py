"""The comparison itself, on a small project: one number a seed for each side, and nothing is trained twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.mechanisms.__main__ import main, spread
from experiments.mechanisms.fusing import fused
from experiments.mechanisms.ideas import Idea, Ideas
from experiments.mechanisms.trials import Trial, slice_captions
from pipeline.corpus.corpus import read_corpus, write_corpus
from pipeline.params.train import Train
from pipeline.training.setup import prepare
from tests.training.test_trainer import SETTINGS, make_project

PARAMS = """
dataset: {name: demo, videos: data/demo/videos, annotations: data/demo/annotations.json}
extract: {}
train: {}
caption: {beam: 1, max_words: 8}
"""
SHORT = SETTINGS.model_copy(update={"epochs": 1})
UNORDERED = SHORT.model_copy(update={"options": {**SHORT.options, "order": False}})
IDEA = Idea("order", says="reading in order", slice="most", clips="most", runs=(SHORT, UNORDERED))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every two neighbours are twins; the last six of training and all others are a slice each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    make_project(tmp_path)
    corpus = read_corpus(Path("data/captions"))
    labels = {video: "few" if video in corpus.splits["train"][-6:] else "most" for video in corpus.captions}
    write_corpus(Path("data/captions"), replace(corpus, slices=labels))
    Path("params.yaml").write_text(PARAMS)
    Path("data/demo").mkdir()
    clips = [{"video_id": video, "twin": f"v{int(video[1:]) ^ 1}"} for video in corpus.captions]
    Path("data/demo/scenes.jsonl").write_text("".join(f"{json.dumps(clip)}\n" for clip in clips))
    return tmp_path


def test_a_number_for_each_seed_and_nothing_twice(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.mechanisms.__main__.read_ideas", lambda: Ideas({}, {"order": IDEA}))
    (project / "one.yaml").write_text("workers: 1\ndevice: cpu\n")

    assert main(["order", "--seeds", "2", "--out", "found.json", "--profile", "one.yaml"]) == 0
    first = json.loads(Path("found.json").read_text())
    monkeypatch.setattr(Trial, "_trained", None)  # would fail if asked again
    assert main(["order", "--seeds", "2", "--out", "again.json", "--profile", "one.yaml"]) == 0

    assert json.loads(Path("again.json").read_text()) == first
    for split in ("val", "test"):
        for side in ("without", "with"):
            assert [len(first["ideas"]["order"][split][side][name]) for name in ("cider", "told_apart")] == [2, 2]


def test_a_slice_is_learnt_from_its_own_clips_and_the_same_words(project: Path) -> None:
    captions = Path("data/captions")
    folder = slice_captions(captions, "few")

    splits = read_corpus(folder).splits
    assert (splits["train"], splits["test"]) == ([f"v{number}" for number in range(18, 24)], [])
    assert (folder / "vocabulary.json").read_bytes() == (captions / "vocabulary.json").read_bytes()
    assert slice_captions(captions, "all") == captions


def test_an_unknown_idea_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["g3l"]) == 2
    assert "there is no idea 'g3l' in ideas.yaml; it has: g2l" in capsys.readouterr().err
    assert main(["--seeds", "0"]) == 2
    assert "--seeds is 0, allowed: 1 or more" in capsys.readouterr().err


def test_fusion_takes_from_either_branch(project: Path) -> None:
    captions = Path("data/captions")
    runs = [SHORT, Train.model_validate({**SHORT.model_dump(), "model": "mean_pool", "options": {"hidden_size": 16}})]
    corpus = prepare(SHORT, captions=captions, max_words=8, device="cpu").corpus
    right = {split: {video: corpus.captions[video][0] for video in corpus.splits[split]} for split in ("val", "test")}
    wrong = {split: dict.fromkeys(right[split], "a word") for split in right}

    chosen = fused(runs, [right, wrong], captions=captions, max_words=8, device="cpu")

    assert set(chosen["test"]) == set(corpus.splits["test"])
    assert all(said in (right["test"][video], "a word") for video, said in chosen["test"].items())


def test_spread() -> None:
    assert (spread([0.5, 0.7]), spread([0.5])) == ("0.60 ± 0.14", "0.50")
