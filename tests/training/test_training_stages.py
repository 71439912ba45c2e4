"""Stages of training: each goes on from the best model before it, stops by itself, and no kill changes anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from models.vre import PHASES
from pipeline.captioner.checkpoint import load_model
from pipeline.captioner.search import greedy
from pipeline.captioner.trained_run import open_run
from pipeline.core.errors import UsageError
from pipeline.params.train import Train
from pipeline.training import trainer as trainer_module
from pipeline.training.history import History, curves_csv
from pipeline.training.rewards import Rewards
from pipeline.training.setup import prepare, publish_run
from pipeline.training.trainer import Trainer
from tests.training.test_trainer import SETTINGS, project  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("project")


class KilledError(Exception):
    """Stands for kill -9: nothing after it runs."""


class KillAfter:
    """Lets so many new epochs pass."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.left -= steps if note else 0
        if not self.left:
            raise KilledError


def settings(**changes: Any) -> Train:
    return Train.model_validate({**SETTINGS.model_dump(), "epochs": 2, **changes})


def trainer_of(chosen: Train) -> Trainer:
    return prepare(chosen, captions=Path("data/captions"), max_words=10, device="cpu")


def straight(chosen: Train, out: str = "runs/straight") -> tuple[History, bytes]:
    trainer = trainer_of(chosen)
    history = trainer.run()
    publish_run(Path(out), "toy", trainer, history)
    return history, Path(out, "model.safetensors").read_bytes()


def killed_at_every_epoch(chosen: Train) -> tuple[History, bytes]:
    while True:
        trainer = trainer_of(chosen)
        try:
            history = trainer.run(KillAfter(1))
        except KilledError:
            continue
        publish_run(Path("runs/killed"), "toy", trainer, history)
        return history, Path("runs/killed/model.safetensors").read_bytes()


VRE = settings(
    model="vre",
    options={"hidden_size": 16},
    stage="first",
    epochs=1,
    batch_size=24,
    optimizer="adam",
    own_words=0.25,
    then=[
        {"stage": "joint", "epochs": 2},
        {"stage": "constant"},
        {"epochs": 1, "rewards": {"cider": 1.0, "rouge": 1.0}, "cross_entropy": 0.0, "own_words": 0.0},
    ],
)
STATS = settings(
    model="stats",
    options={"word_size": 8, "feature_size": 16, "hidden_size": 16, "attention_size": 8},
    tensors={"appearance": "pool"},
    optimizer="rmsprop",
    own_words_after=24.0,
    then=[{"rewards": {"bleu4": 1.0, "cider": 1.0}}],
)


@pytest.mark.parametrize(
    "chosen", [VRE, STATS, *(settings(optimizer=name) for name in ("sgd", "adadelta"))], ids=lambda one: one.optimizer
)
def test_a_run_killed_after_every_epoch_ends_in_the_same_bytes(chosen: Train) -> None:
    assert killed_at_every_epoch(chosen) == straight(chosen)


@pytest.mark.parametrize("chosen", [VRE, STATS], ids=lambda one: one.model)
def test_a_run_killed_after_every_step_ends_in_the_same_bytes(chosen: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropout, own words, drawn sentences, VRE's notes and the means of an epoch all go on in the middle of it."""
    expected, save, kept = straight(chosen), trainer_module.save_progress, []

    def save_and_die(*given: Any) -> None:
        save(*given)
        kept.append(given[-1]["part"]["steps"])
        if kept[-1]:
            raise KilledError

    monkeypatch.setattr(trainer_module, "save_progress", save_and_die)
    while True:
        trainer = replace(trainer_of(chosen), keep_every=0.0)
        try:
            history = trainer.run()
        except KilledError:
            continue
        break
    publish_run(Path("runs/killed"), "toy", trainer, history)

    steps = -(-48 // chosen.batch_size)
    assert kept == [*range(1, steps + 1), 0] * len(history.epochs)  # each step was done once
    assert (history, Path("runs/killed/model.safetensors").read_bytes()) == expected


def test_the_four_stages_of_vre() -> None:
    history, _ = straight(VRE)

    assert [line.stage for line in history.epochs] == [1, 2, 2, 3, 3, 4]
    run = open_run(Path("runs/straight"), device="cpu")
    assert int(run.model.phase) in PHASES.values()  # type: ignore[arg-type]
    assert len(run.source.batch(["v0"])["appearance"].mask) == 1


def test_a_kill_between_the_best_model_and_the_record_of_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best model of a first epoch of a stage lies there, but no record of it: the stage must begin as before."""
    chosen = settings(epochs=1, learning_rate=1e-4, then=[{"epochs": 2, "learning_rate": 0.02}])
    expected = straight(chosen)
    assert expected[0].best.stage == 2
    save, calls = trainer_module.save_progress, []

    def save_once(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 2:
            raise KilledError
        save(*given)

    monkeypatch.setattr(trainer_module, "save_progress", save_once)
    with pytest.raises(KilledError):
        trainer_of(chosen).run()

    assert straight(chosen, "runs/killed") == expected


def test_a_stage_begins_with_the_best_model_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with a better one of a stage before that: VRE's constant key frames are those of the joint stage."""
    scores = iter([0.9, 0.2, 0.4, 0.3, 0.1])
    monkeypatch.setattr(Trainer, "validate", lambda _: next(scores))
    trainer = trainer_of(settings(epochs=1, then=[{"epochs": 3}, {"epochs": 1}]))
    best, began = trainer_of(trainer.settings).model, []

    def begin(stage: str) -> None:
        files = sorted(trainer.folder.glob("best-*.safetensors"))
        for file in files[-1:]:
            load_model(file, best)
            same = torch.equal(*(next(each.parameters()) for each in (best, trainer.model)))
            began.append(([each.name for each in files], same))

    monkeypatch.setattr(trainer.model, "begin", begin)
    history = trainer.run()

    assert history.best.epoch == 1
    one, three = "best-0001.safetensors", "best-0003.safetensors"
    assert began == [([one], True), ([one, three], True)]


def test_own_words_grow_from_stage_to_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(trainer_module, "own_words_at", lambda _, epoch: asked.append(epoch) or 0.0)
    trainer_of(settings(own_words_after=24.0, then=[{"epochs": 2}])).run()

    assert asked == [0, 1, 2, 3]


def test_each_stage_has_its_own_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second stage never beats the first, and still runs until it stops getting better itself."""
    scores = iter([0.5, 0.9, 0.8, 0.7, 0.1, 0.2, 0.3, 0.2, 0.2])
    monkeypatch.setattr(Trainer, "validate", lambda _: next(scores))

    history = trainer_of(settings(epochs=9, patience=2, then=[{"epochs": 20}])).run()

    assert [line.stage for line in history.epochs] == [1, 1, 1, 1, 2, 2, 2, 2, 2]
    assert history.best.epoch == 2


def test_notes_begin_anew_with_a_stage_and_are_kept_within_it() -> None:
    chosen = settings(
        model="vre", options={"hidden_size": 16}, stage="joint", epochs=1, then=[{"epochs": 3}, {"stage": "constant"}]
    )
    trainer = trainer_of(chosen)
    with pytest.raises(KilledError):
        trainer.run(KillAfter(3))
    kept = dict(trainer.tables)
    assert kept["reward"].isfinite().all()
    assert len(kept["reward"]) == 48

    resumed = trainer_of(chosen)
    with pytest.raises(KilledError):
        resumed.run(KillAfter(1))
    assert not torch.equal(resumed.tables["reward"], kept["reward"])
    resumed.run()
    assert resumed.tables == {}


def test_self_critical_training_raises_the_reward_of_the_training_videos() -> None:
    def reward(model: Any, trainer: Trainer) -> float:
        ids = trainer.corpus.splits["train"]
        words = greedy(model.eval(), model.encode(trainer.source.batch(ids)), max_words=10).words
        with Rewards(trainer.corpus.references("train"), {"cider": 1.0}) as rewards:
            return float(rewards(ids, [trainer.vocabulary.decode(row) for row in words.tolist()]).mean())

    options = {**SETTINGS.options, "dropout": 0.0}
    stage = {"epochs": 20, "patience": 20, "rewards": {"cider": 1.0}, "cross_entropy": 0.0, "learning_rate": 1e-3}
    before, after = (trainer_of(settings(epochs=3, options=options, then=then)) for then in ([], [stage]))
    before.run()
    after.run()

    assert reward(after.model, after) > 1.3 * reward(before.model, before)


def test_sentences_that_judge_each_other_get_better() -> None:
    stage = {"epochs": 20, "patience": 20, "rewards": {"cider": 1.0}, "cross_entropy": 0.0, "learning_rate": 1e-3}
    stage |= {"samples": 3, "baseline": "others", "end_word": True}
    history = trainer_of(settings(epochs=3, options={**SETTINGS.options, "dropout": 0.0}, then=[stage])).run()

    drawn = [line.reward for line in history.of(2).epochs if line.reward is not None]
    assert sum(drawn[-5:]) > 1.3 * sum(drawn[:5])


def test_the_reward_has_a_column_in_the_curves_of_runs_that_have_one() -> None:
    stage = {"epochs": 1, "rewards": {"cider": 1.0}, "samples": 2, "baseline": "others"}
    with_rewards, without = (curves_csv(straight(settings(epochs=1, then=then))[0]) for then in ([stage], []))

    head, first, second = (line.split(",") for line in with_rewards.split())
    assert head == ["epoch", "train_loss", "val_cider", "stage", "reward"]
    assert first[-1] == ""
    assert float(second[-1]) > 0
    assert "reward" not in without


def test_a_sentence_cannot_be_judged_by_others_when_it_is_alone() -> None:
    with pytest.raises(ValueError, match="samples of 2 or more"):
        settings(rewards={"cider": 1.0}, baseline="others", samples=1)
    assert settings(baseline="others").baseline == "others"  # for a later stage that has rewards


def test_seeds_are_runs_of_their_own() -> None:
    models = {seed: straight(settings(epochs=1, seed=seed), f"runs/{seed}")[1] for seed in (0, 1, 2)}

    assert len(set(models.values())) == 3
    assert straight(settings(epochs=1, seed=1))[1] == models[1]


def test_a_stage_that_the_model_does_not_know_is_refused_before_training() -> None:
    with pytest.raises(UsageError, match="the model has no stage 'third'; it has: constant, first, joint"):
        trainer_of(settings(model="vre", options={"hidden_size": 16}, then=[{"stage": "third"}]))


def test_a_stage_is_as_the_one_before_it_but_for_its_name() -> None:
    first, second, third = settings(stage="first", optimizer="adam", then=[{"epochs": 7}, {"clip": 1.0}]).stages

    assert (first.stage, second.stage, third.stage) == ("first", "", "")
    assert (second.epochs, third.epochs) == (7, 7)
    assert (second.clip, third.clip) == (5.0, 1.0)
    assert {each.optimizer for each in (first, second, third)} == {"adam"}


def test_a_misspelt_key_of_a_later_stage_is_found_at_once() -> None:
    with pytest.raises(ValueError, match="learning_rat"):
        settings(then=[{"learning_rat": 0.1}])
