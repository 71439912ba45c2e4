"""A transformer from training to sentences: learnt, interrupted, shared by workers, continued, searched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.captioner.generate import GeneratedCaption, caption_videos
from pipeline.captioner.trained_run import TrainedRun, open_run
from pipeline.captioning.attention_geometry import AttentionGeometry
from pipeline.captioning.chosen_search import chosen_search
from pipeline.corpus.corpus import read_corpus
from pipeline.params.caption import Caption
from pipeline.params.train import Train
from pipeline.training.history import Epoch
from pipeline.training.setup import prepare, publish_run
from tests.training.test_trainer import SETTINGS, project, train

__all__ = ["project"]  # a fixture
CAPTIONS = Path("data/captions")
SAMPLE = {"search": "sample", "temperature": 0.2}
TRANSFORMER = Train.model_validate(
    {
        **SETTINGS.model_dump(),
        "model": "transformer",
        "options": {"word_size": 16, "hidden_size": 32, "heads": 2, "dropout": 0.1},
        "epochs": 25,
        "patience": 25,
        "learning_rate": 0.005,
        "weight_average": 0.9,
    }
)
SHARED = TRANSFORMER.model_copy(
    update={
        "parts": 2,
        "epochs": 2,
        "frame_dropout": 0.2,
        "word_dropout": 0.1,
        "own_words": 0.2,
        "then": [{"epochs": 1, "rewards": {"cider": 1.0}, "samples": 2, "baseline": "others", "cross_entropy": 0.5}],
    }
)


class StoppedError(Exception):
    """In the middle of a run."""


def weights(settings: Train, out: str, *others: str) -> bytes:
    trainer = prepare(settings, captions=CAPTIONS, max_words=10, device="cpu", others=others)
    publish_run(Path(out), "toy", trainer, trainer.run())
    return Path(out, "model.safetensors").read_bytes()


def captioned(run: TrainedRun, videos: list[str], **params: object) -> dict[str, GeneratedCaption]:
    wanted = Caption.model_validate({"max_words": 8, **params})
    search = chosen_search(wanted, vocabulary=run.vocabulary, captions=CAPTIONS, training=run.source, own=run.source)
    return caption_videos(run.model, run.source, videos, vocabulary=run.vocabulary, search=search)


@pytest.mark.usefixtures("project")
def test_it_learns_what_is_planted_and_says_it_whoever_else_is_in_the_batch() -> None:
    history = train(TRANSFORMER, "runs/toy")
    run, corpus = open_run(Path("runs/toy"), device="cpu"), read_corpus(CAPTIONS)
    videos = corpus.splits["test"]

    assert history.best.val_cider > 3
    for params in ({"beam": 3}, SAMPLE, {**SAMPLE, "search": "consensus", "samples": 8, "neighbours": 2}):
        together, turned = captioned(run, videos, **params), captioned(run, videos[::-1], **params)
        alone = {video: captioned(run, [video], **params)[video] for video in videos[:2]}
        assert {video: each.caption for video, each in together.items()} == {
            video: each.caption for video, each in turned.items()
        }
        assert all(alone[video].caption == together[video].caption for video in alone)
        right = sum(set(together[video].words) >= _named(corpus.captions[video][0]) for video in videos)
        assert right >= len(videos) - 1
    maps = AttentionGeometry(run.model, run.source).attention_maps(videos[0], together[videos[0]].attention)
    assert maps["time"].shape == (len(together[videos[0]].words), len(maps["times"]))
    np.testing.assert_allclose(maps["slot"].sum(1), 1, atol=1e-4)


def _named(caption: str) -> set[str]:
    """Colour and shape."""
    return {*caption.split()[1:3]}


@pytest.mark.usefixtures("project")
def test_workers_and_an_interruption_change_no_byte_and_another_run_goes_on_from_it() -> None:
    alone = weights(SHARED, "runs/alone")
    together = weights(SHARED, "runs/together", "cpu")
    trainer = prepare(SHARED, captions=CAPTIONS, max_words=10, device="cpu")

    def stop(line: Epoch) -> None:
        if line.epoch == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        replace(trainer, keep_every=0.0, on_epoch=stop).run()  # half of the epoch is kept, the whole is not

    assert weights(SHARED, "runs/again") == together == alone
    onwards = SHARED.model_copy(update={"start_from": "alone", "epochs": 1, "then": []})
    assert weights(onwards, "runs/onwards") != alone


@pytest.mark.usefixtures("project")
def test_word_vectors_are_its_embedding() -> None:
    Path("words.txt").write_text("".join(f"{word} {' '.join(['0.25'] * 16)}\n" for word in ("red", "ball")))
    chosen = TRANSFORMER.model_copy(update={"word_vectors": "words.txt"})
    trainer = prepare(chosen, captions=CAPTIONS, max_words=10, device="cpu")

    embedding = trainer.model.state_dict()["embed.weight"]
    assert embedding[trainer.vocabulary.numbers["ball"]].tolist() == [0.25] * 16
