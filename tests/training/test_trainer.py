"""The training loop: it learns, stops early, and a killed run goes on as if it had never stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.captioner.trained_run import open_run
from pipeline.core.errors import InputError
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.corpus.vocabulary import Vocabulary, read_vocabulary, write_vocabulary
from pipeline.params.train import Slots, Train
from pipeline.store import Failure, Rows, VideoFeatures, open_store, write_store
from pipeline.training.history import Epoch, History
from pipeline.training.setup import prepare, publish_run

COLOURS = ("red", "green", "blue")
SHAPES = ("ball", "cube")


def make_project(folder: Path, videos: int = 36) -> None:
    """Videos whose features name their colour and shape, with two captions each."""
    numbers = np.random.default_rng(0)
    captions, features = {}, {}
    for video in range(videos):
        colour, shape = video % 3, (video // 3) % 2
        captions[f"v{video}"] = [
            f"a {COLOURS[colour]} {SHAPES[shape]} moves",
            f"the {SHAPES[shape]} is {COLOURS[colour]}",
        ]
        pool = numbers.normal(0, 0.1, size=(3 + video % 4, 5)).astype(np.float32)
        pool[:, colour] += 1
        pool[:, 3 + shape] += 1
        frames = np.arange(len(pool), dtype=np.int64)
        rows = Rows(first_frame=frames, last_frame=frames, start=frames / 5, end=(frames + 1) / 5, valid=frames * 0 + 1)
        features[f"v{video}"] = VideoFeatures(tensors={"pool": pool}, rows=rows)
    ids = list(captions)
    corpus = Corpus({"train": ids[:24], "val": ids[24:30], "test": ids[30:]}, captions)
    write_corpus(folder / "data/captions", corpus)
    vocabulary = Vocabulary.build(corpus.sentences("train"))
    write_vocabulary(folder / "data/captions/vocabulary.json", vocabulary)
    write_store(folder / "features/toy", features, fingerprint={"weights": "random"})


SETTINGS = Train(
    model="soft_attention",
    features=Slots(appearance="toy"),
    options={"hidden_size": 32, "word_size": 16, "attention_size": 16},
    epochs=12,
    batch_size=16,
    learning_rate=0.01,
    patience=12,
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def train(settings: Train, out: str) -> History:
    trainer = prepare(settings, captions=Path("data/captions"), max_words=10, device="cpu")
    history = trainer.run()
    publish_run(Path(out), "toy", trainer, history)
    return history


def test_it_learns_and_the_published_run_says_so(project: Path) -> None:
    from pipeline.captioner.generate import caption_videos
    from pipeline.captioner.search import Search

    history = train(SETTINGS, "runs/toy")

    assert history.epochs[-1].train_loss < history.epochs[0].train_loss / 2
    run = open_run(Path("runs/toy"), device="cpu")
    search = Search(beam=3, max_words=10)
    said = caption_videos(run.model, run.source, ["v30", "v31"], vocabulary=run.vocabulary, search=search)
    assert "red" in said["v30"].caption
    assert "green" in said["v31"].caption
    facts = json.loads(Path("runs/toy/run.json").read_text())
    assert facts["features"]["appearance"]["untrained"]
    assert facts["processor"] == torch.backends.cpu.get_cpu_capability()


def test_a_killed_run_resumes_to_the_same_bytes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kill -9 in the middle, twice; the model and the curve equal those of an undisturbed run."""
    undisturbed = train(SETTINGS.model_copy(update={"epochs": 12}), "runs/straight")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(project / "other-cache"))
    code = "from tests.training.test_trainer import SETTINGS, train\ntrain(SETTINGS, 'runs/killed')\n"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    for epochs in (2, 5):
        process = subprocess.Popen([sys.executable, "-c", code], cwd=project, env=environment)
        wait_for_epoch(project / "other-cache", epochs, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed = train(SETTINGS, "runs/killed")

    assert resumed.epochs == undisturbed.epochs
    assert Path("runs/killed/model.safetensors").read_bytes() == Path("runs/straight/model.safetensors").read_bytes()


@pytest.mark.parametrize("kept", ["progress.json", "progress-*.safetensors", "best-*.safetensors"])
@pytest.mark.parametrize("damage", ["flipped", "gone"])
def test_damaged_progress_is_trained_again_to_the_same_bytes(
    project: Path, monkeypatch: pytest.MonkeyPatch, kept: str, damage: str
) -> None:
    settings = SETTINGS.model_copy(update={"epochs": 3})
    undisturbed = train(settings, "runs/straight")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(project / "other-cache"))
    trainer = prepare(settings, captions=Path("data/captions"), max_words=10, device="cpu")
    trainer.run()
    for file in trainer.folder.glob(kept):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 4
        file.write_bytes(data) if damage == "flipped" else file.unlink()
    again = train(settings, "runs/again")

    assert again.epochs == undisturbed.epochs
    assert Path("runs/again/model.safetensors").read_bytes() == Path("runs/straight/model.safetensors").read_bytes()


def wait_for_epoch(cache: Path, epoch: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        if any(int(path.stem.split("-")[1]) >= epoch for path in cache.rglob("progress-*.safetensors")):
            return
        time.sleep(0.01)


def test_the_seed_decides_the_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = train(SETTINGS.model_copy(update={"epochs": 2}), "runs/a")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(project / "empty-cache"))
    again = train(SETTINGS.model_copy(update={"epochs": 2}), "runs/b")
    other = train(SETTINGS.model_copy(update={"epochs": 2, "seed": 1}), "runs/c")

    assert first.epochs == again.epochs
    assert first.epochs != other.epochs


def test_patience_counts_from_the_best_epoch() -> None:
    history = History([Epoch(1, 3.0, 0.1), Epoch(2, 2.0, 0.4), Epoch(3, 1.0, 0.4), Epoch(4, 1.0, 0.2)])

    assert history.best.epoch == 2
    assert history.exhausted(patience=2, limit=100)
    assert not history.exhausted(patience=3, limit=100)
    assert history.exhausted(patience=50, limit=4)


def test_where_no_epoch_has_a_score_the_last_is_kept_and_patience_still_ends_it() -> None:
    """As of a single validation video, all of whose words are in every validation video."""
    history = History([Epoch(number, 4.0 - number, 0.0) for number in (1, 2, 3)])

    assert history.best.epoch == 3
    assert history.exhausted(patience=2, limit=9)
    assert not history.exhausted(patience=3, limit=9)
    history.epochs.append(Epoch(4, 0.5, 0.1))
    assert history.best.epoch == 4


def test_a_store_without_a_video_of_the_data_set_is_an_error(project: Path) -> None:
    write_store(Path("features/toy"), {}, fingerprint={}, failures={"v0": Failure("timeout")})
    with pytest.raises(InputError, match="reads 'pool' for 'appearance'"):
        prepare(SETTINGS, captions=Path("data/captions"), max_words=10, device="cpu")


def test_a_slot_without_a_store_is_an_error(project: Path) -> None:
    settings = SETTINGS.model_copy(update={"features": Slots()})
    with pytest.raises(InputError, match="the model reads 'appearance', but the run gives it no store"):
        prepare(settings, captions=Path("data/captions"), max_words=10, device="cpu")


def test_an_epoch_may_show_a_few_captions_of_each_video_in_one_batch(project: Path) -> None:
    trainer = prepare(SETTINGS, captions=Path("data/captions"), max_words=10, device="cpu")
    pairs = trainer._pairs
    batches = list(pairs.batches(6, seed=1, per_video=1))
    again = [batch.pairs.tolist() for batch in pairs.batches(6, seed=2, per_video=1)]

    shown = [pair for batch in batches for pair in batch.pairs.tolist()]
    assert sorted(pairs.video_ids[pair] for pair in shown) == sorted(set(pairs.video_ids))
    assert sorted(shown) != sorted(pair for batch in again for pair in batch)  # other captions
    assert [batch.video_ids for batch in batches] != sorted(batch.video_ids for batch in batches)

    both = list(pairs.batches(6, seed=1, per_video=5))  # more than there are
    assert sorted(pair for batch in both for pair in batch.pairs.tolist()) == list(range(48))
    assert {len(batch.video_ids) for batch in both} == {3}  # six captions of three videos


def test_fewer_captions_an_epoch_still_teach(project: Path) -> None:
    few = SETTINGS.model_copy(update={"captions_per_video": 1, "epochs": 24, "patience": 24})
    assert train(few, "runs/few").best.val_cider > 5


@pytest.mark.parametrize("other", [{"options": {"hidden_size": 16}}, {"model": "mean_pool", "options": {}}])
def test_weights_that_do_not_fit_say_what_they_are(project: Path, other: dict[str, Any]) -> None:
    train(SETTINGS.model_copy(update={"epochs": 1}), "runs/toy")
    with pytest.raises(InputError, match=r"'toy' do not fit: they are soft_attention with options .*'hidden_size': 32"):
        train(SETTINGS.model_copy(update={"start_from": "toy", **other}), "runs/on")


def test_weights_of_other_words_are_refused_even_where_they_fit(project: Path) -> None:
    train(SETTINGS.model_copy(update={"epochs": 1}), "runs/toy")
    words = read_vocabulary(Path("data/captions/vocabulary.json")).words
    write_vocabulary(Path("data/captions/vocabulary.json"), Vocabulary((*words[:4], *reversed(words[4:]))))
    with pytest.raises(InputError, match="start_from: 'toy' has another vocabulary"):
        train(SETTINGS.model_copy(update={"start_from": "toy"}), "runs/on")


def test_a_run_may_start_from_another(project: Path) -> None:
    train(SETTINGS, "runs/toy")
    on = train(SETTINGS.model_copy(update={"start_from": "toy", "epochs": 1}), "runs/on")
    fresh = train(SETTINGS.model_copy(update={"epochs": 1}), "runs/fresh")

    assert on.epochs[0].train_loss < fresh.epochs[0].train_loss / 2
    with pytest.raises(InputError, match="no trained run 'toys'"):
        train(SETTINGS.model_copy(update={"start_from": "toys"}), "runs/on")


def test_a_run_is_not_opened_on_other_features_than_it_learnt_from(project: Path) -> None:
    train(SETTINGS.model_copy(update={"epochs": 1}), "runs/toy")
    made_anew({"weights": "random", "device": "cuda", "libraries": {"torch": "9"}})
    open_run(Path("runs/toy"), device="cpu")  # the same numbers but for rounding

    made_anew({"weights": "0f0f"})
    with pytest.raises(InputError, match=r"'toy' was trained on other features .*: weights random -> 0f0f"):
        open_run(Path("runs/toy"), device="cpu")


def made_anew(fingerprint: dict[str, object]) -> None:
    store = open_store(Path("features/toy"))
    write_store(Path("features/toy"), {id_: store[id_] for id_ in store}, fingerprint=fingerprint)
