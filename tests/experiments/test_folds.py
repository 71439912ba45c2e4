"""Cross-validation on a small set: what a fold holds out has no part in it, and what was stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.folds import training
from experiments.folds.__main__ import main
from experiments.folds.cross_validation import CrossValidation
from experiments.folds.recipe import Recipe, open_model, read_recipes
from experiments.folds.training import EpochWatch
from pipeline.cli import main as framescribe
from pipeline.corpus import read_corpus, read_vocabulary, write_corpus
from pipeline.params import load_params

COLOURS = ("red", "green", "blue")
PARAMS = """
dataset: {name: msvd, videos: none, annotations: data/msvd}
extract: {}
train:
  small:
    model: soft_attention
    features: {appearance: vgg16}
    options: {hidden_size: 16, word_size: 8, attention_size: 8}
    batch_size: 16
    learning_rate: 0.03
    epochs: 4
    patience: 4
  onward:
    model: soft_attention
    start_from: small
    features: {appearance: vgg16}
    options: {hidden_size: 16, word_size: 8, attention_size: 8}
    epochs: 1
caption: {beam: 2, max_words: 6, split: val}
"""
CLIPS = [*range(1, 25), *range(1201, 1207)]


def make_project(folder: Path, *, changed: Collection[str] = ()) -> None:
    """Clips of one colour each, two of a film, with a word that is theirs alone; `changed` ones say something else."""
    (folder / "data/msvd").mkdir(parents=True)
    feat = np.random.default_rng(0).normal(0, 0.1, (len(CLIPS), 4, 6)).astype(np.float16)
    lines: dict[str, list[str]] = {"train": [], "val": []}
    for row, clip in enumerate(CLIPS):
        feat[row, :, clip % 3] += 3
        told = [f"a {COLOURS[clip % 3]} ball rolls own{clip}", f"a {COLOURS[clip % 3]} ball is rolling"]
        if f"vid{clip}" in changed:
            told = ["secrets nobody may read", "a lion sleeps"]
        lines["train" if clip <= 24 else "val"] += [f"vid{clip}\t{text}" for text in told]
    np.savez(folder / "data/msvd/features.npz", ids=np.array([f"vid{clip}" for clip in CLIPS]), feat=feat)
    for split, texts in lines.items():
        (folder / f"data/msvd/captions_{split}.txt").write_text("\n".join(texts) + "\n")
    mapping = [f"film{row // 2}_{row}_{row + 5} vid{clip}" for row, clip in enumerate(CLIPS)]
    (folder / "data/msvd/youtube_mapping.txt").write_text("\n".join(mapping) + "\n")
    (folder / "params.yaml").write_text(PARAMS)


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, *, changed: Collection[str] = ()) -> None:
    folder.mkdir(exist_ok=True)
    make_project(folder, changed=changed)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
    assert framescribe(["store", "import", "data/msvd/features.npz", "vgg16", "--tensor", "pool", "--quiet"]) == 0
    assert framescribe(["assemble", "--store", "features/vgg16", "--quiet"]) == 0


def run(*arguments: str) -> None:
    assert main(["run", *arguments]) == 0


def written(pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path("folds").glob(pattern))}


def validation() -> CrossValidation:
    return CrossValidation.of(load_params(), results=Path("folds"), folds=3, seed=0)


def test_what_a_fold_holds_out_has_no_part_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other captions of its held-out clips change no sentence of a fold, and a fold's files have none of them."""
    enter(tmp_path / "one", monkeypatch)
    run("small", "--seeds", "0", "--decodings", "beam", "neighbours")
    before, fold = written("sentences/*-fold0-*"), validation().folds[0]
    seen = read_corpus(Path("folds/captions/fold0-1"))
    words = read_vocabulary(Path("folds/captions/fold0-1/vocabulary.json")).words

    enter(tmp_path / "other", monkeypatch, changed=fold.held_out)
    run("small", "--seeds", "0", "--decodings", "beam", "neighbours")

    assert written("sentences/*-fold0-*") == before
    assert len(before) == 2
    assert seen.captions.keys() == {*fold.train, *fold.val}
    assert {word for word in words if word.startswith("own")} == {
        f"own{clip.removeprefix('vid')}" for clip in fold.train
    }
    others = written("sentences/*-fold1-*")  # whose models did read those captions
    assert any(b"lion" in text or b"secrets" in text for text in others.values())


def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path / "whole", monkeypatch)
    run("small", "--seeds", "0", "1", "--together", "--decodings", "beam", "consensus")
    whole = written("sentences/*") | written("trained/*")

    enter(tmp_path / "stopped", monkeypatch)
    advance, calls = EpochWatch.advance, []

    def stopping(watch: EpochWatch, steps: int = 1, note: str = "") -> None:
        advance(watch, steps, note)
        calls.append(note)
        if len(calls) in (6, 20):  # in the middle of two trainings
            raise KeyboardInterrupt

    monkeypatch.setattr(EpochWatch, "advance", stopping)
    arguments = ("small", "--seeds", "0", "1", "--together", "--decodings", "beam", "consensus")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(*arguments)
    run(*arguments)

    assert written("sentences/*") | written("trained/*") == whole
    assert len(written("sentences/*")) == 3 * 2 * 3  # folds, decodings, two seeds and both as one
    assert all(len(json.loads(text)) == 1 + 4 for name, text in written("seconds/*").items() if "." not in name[:-5])

    monkeypatch.setattr(Recipe, "trainer", None)  # would fail if anything were trained again
    run(*arguments)


def test_systems_are_scored_on_all_clips_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(tmp_path, monkeypatch)
    run("small", "--seeds", "0", "1", "--together", "--decodings", "beam", "neighbours")
    assert main(["show", "--out", "shown.json"]) == 0
    assert main(["compare", "small.beam", "small.neighbours", "--out", "compared.json"]) == 0

    shown = json.loads(Path("shown.json").read_text())
    assert (shown["clips"], shown["folds"]) == (30, 3)
    together = {"small-together.beam", "small-together.neighbours"}
    assert shown["systems"].keys() == {"small.beam", "small.neighbours", *together}
    facts = shown["systems"]["small.beam"]
    score, low, high = facts["scores"]["CIDEr-D"]
    assert low <= score <= high
    assert score == pytest.approx(np.mean(list(facts["seeds"].values())), abs=1e-3)
    assert min(facts["processor_seconds"].values()) > 0
    gap = json.loads(Path("compared.json").read_text())["small.beam -> small.neighbours"]["CIDEr-D"]
    expected = shown["systems"]["small.neighbours"]["scores"]["CIDEr-D"][0] - score
    assert gap["difference"] == pytest.approx(expected, abs=2e-4)

    weights = {path: path.read_bytes() for path in Path("runs").rglob("*.safetensors")}
    run("small", "--seeds", "0", "--decodings", "beam", "--folds", "2", "--results", "others")
    assert {path: path.read_bytes() for path in weights} == weights  # models of other folds may have seen other clips

    assert main(["compare", "small.beam", "small.nobody"]) != 0
    assert "no system 'small.nobody' has a sentence for every clip" in capsys.readouterr().err
    assert main(["show", "--folds", "2"]) != 0
    assert "another number of folds" in capsys.readouterr().err


def test_other_params_or_captions_under_the_same_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(tmp_path, monkeypatch)
    run("small", "--seeds", "0", "--decodings", "beam")
    Path("params.yaml").write_text(PARAMS.replace("0.03", "0.02"))

    assert main(["run", "small", "--seeds", "0", "--decodings", "beam"]) != 0
    assert "give the recipe another name" in capsys.readouterr().err

    Path("params.yaml").write_text(PARAMS)
    corpus = read_corpus(Path("data/captions"))
    write_corpus(Path("data/captions"), replace(corpus, captions={**corpus.captions, "vid1": ["a lion sleeps"]}))
    assert main(["run", "small", "--seeds", "0", "--decodings", "beam"]) != 0
    assert "other captions" in capsys.readouterr().err


def test_a_run_goes_on_from_that_of_its_own_fold_and_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    run("small", "onward", "--seeds", "1", "--decodings", "beam")

    records = [json.loads(path.read_text()) for path in sorted(Path("runs").glob("*onward*/run.json"))]
    assert [record["params"]["start_from"] for record in records] == [f"folds-small-fold{fold}-1" for fold in range(3)]


def test_weights_of_others_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(tmp_path, monkeypatch)
    run("small", "--seeds", "0", "--decodings", "beam")
    mine, others = (Path(f"runs/folds-small-fold{fold}-0/model.safetensors") for fold in range(2))
    mine.write_bytes(others.read_bytes())

    assert main(["run", "small", "--seeds", "0", "--decodings", "beam"]) != 0
    assert "its model may have seen what the fold holds out" in capsys.readouterr().err


def test_the_peer_goes_through_the_same_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    known = read_recipes(load_params())["peer"]
    short = known.train.model_copy(update={"epochs": 2, "batch_size": 8})
    (first, *_) = validation().runs(Recipe("peer", known.assemble, short), seed=0)

    first.train()

    assert first.is_done()
    facts = json.loads(first.record.read_text())
    assert facts["captions"] == 2 * 2 * len(validation().folds[0].train)
    assert facts["updates"] == 2 * -(-2 * len(validation().folds[0].train) // 8)
    (said, *_) = validation().sentences(Recipe("peer", known.assemble, short), [0], "beam", load_params().caption)
    said.decode()
    assert len(json.loads(said.path.read_text())["sentences"]) == len(validation().folds[0].held_out)
    kept = open_model(first.folder)
    assert sum(weights.numel() for weights in kept.model.parameters()) == facts["parameters"]
    assert kept.vocabulary == read_vocabulary(first.captions / "vocabulary.json")


def test_seconds_of_an_epoch_that_was_stopped_are_known_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "seconds.json"
    EpochWatch(path, training.SILENT).advance(note="loss 1")
    again = EpochWatch(path, training.SILENT)
    again.advance(2)  # kept: the second was done, and nobody wrote it down
    again.advance(note="loss 3")

    assert training.read_seconds(path).keys() == {"1", "3"}
