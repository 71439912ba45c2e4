"""What is taken from a batch: as often as asked, never all of it, the same rows everywhere; and averaged weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from models.base import Features, Input, Modality
from pipeline.captioner.teacher_forcing import teacher_forced
from pipeline.captioner.trained_run import open_run
from pipeline.core.errors import UsageError
from pipeline.corpus.vocabulary import BOS, EOS, PAD, UNK
from pipeline.params.train import Schedule, Slots, Train
from pipeline.training.regularisation import fewer_rows, fewer_slots, regularised
from pipeline.training.setup import prepare
from pipeline.training.weight_average import averaged_weights, update_average
from tests.models.test_captioners import build, features as model_features
from tests.training.test_trainer import SETTINGS, project, train

__all__ = ["project"]  # a fixture
INPUTS = {"frames": Input("appearance", "pool"), "motion": Input("motion", "pool"), "flow": Input("motion", "flow")}
VIDEOS = 40


def features(*lengths: int, seed: int = 0) -> Features:
    """Every number of a row says which row it is; `lengths` of the first videos' frames, the others have six."""
    real = torch.tensor([*lengths, *[6] * (VIDEOS - len(lengths))]).unsqueeze(1)
    rows = torch.arange(6.0).expand(VIDEOS, 6)
    mask = torch.arange(6) < real
    values = (rows.unsqueeze(2) + 1).expand(-1, -1, 3) * mask.unsqueeze(2)
    short = Modality(values[:, :4].clone(), mask[:, :4].clone(), rows[:, :4])
    torch.manual_seed(seed)
    return {"frames": Modality(values, mask, rows), "motion": short, "flow": short}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), rate=st.sampled_from([0.2, 0.5, 0.99]))
def test_the_same_rows_are_left_out_of_all_stores_and_never_all(seed: int, rate: float) -> None:
    given_ = features(1, 3, 0, seed=seed)
    found = fewer_rows(given_, rate)

    for name, rows in found.items():
        kept, whole = rows.mask.sum(1), given_[name].mask.sum(1)
        assert (kept[whole > 0] > 0).all()
        assert kept[2] == 0
        assert (rows.values[rows.mask] == rows.seconds[rows.mask].unsqueeze(1) + 1).all()  # type: ignore[index]
        assert rows.values.shape[1] == max(1, int(kept.max()))
    for video in range(VIDEOS):
        frames, motion = (found[name].seconds[video][found[name].mask[video]] for name in ("frames", "motion"))  # type: ignore[index]
        assert {*frames[frames < 4].tolist()} <= {*motion.tolist()}
        assert frames.tolist() == sorted(frames.tolist())


def test_as_many_rows_are_left_out_as_were_asked_for() -> None:
    counts = [float(fewer_rows(features(seed=seed), 0.25)["frames"].mask.float().sum()) for seed in range(30)]

    assert sum(counts) / 30 / VIDEOS == pytest.approx(6 * 0.75, abs=0.1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), rate=st.sampled_from([0.3, 0.99]))
def test_whole_stores_are_taken_and_one_stays(seed: int, rate: float) -> None:
    given_ = features(0, seed=seed)
    given_["motion"].mask[1], given_["motion"].values[1] = False, 0.0
    found = fewer_slots(given_, rate, {name: each.slot for name, each in INPUTS.items()})
    left = torch.stack([found[name].mask.any(1) for name in ("frames", "motion", "flow")], 1)

    assert left[1:].any(1).all()
    assert not left[0].any()
    assert torch.equal(left[2:, 1], left[2:, 2])  # inputs of one store go together
    assert not left[2:].all() or rate < 0.9
    assert all(not rows.values[~rows.mask].any() for rows in found.values())


def test_entries_become_zero_and_the_rest_as_much_larger() -> None:
    found = regularised(features(), Schedule(feature_dropout=0.5), INPUTS)["frames"].values

    assert {*(found[:, 0].flatten()).tolist()} == {0.0, 2.0}
    assert found[:, 0].mean() == pytest.approx(1.0, abs=0.3)


def test_nothing_asked_for_is_nothing_drawn() -> None:
    given_, before = features(), torch.get_rng_state()

    assert regularised(given_, Schedule(), INPUTS) is given_
    assert torch.equal(torch.get_rng_state(), before)
    assert "feature_dropout" not in Train(model="g2l", features=Slots()).model_dump()


def test_words_that_are_read_become_unknown_and_those_that_are_learnt_do_not() -> None:
    model, words = build("transformer-frames"), torch.tensor([[5, 6, 7, EOS], [8, 9, EOS, PAD]] * 50)
    heard: list[torch.Tensor] = []
    model.embed.register_forward_hook(lambda _module, given_, _found: heard.append(given_[0]))  # type: ignore[union-attr]
    state = model.encode(model_features("transformer-frames", [4] * 100))
    torch.manual_seed(0)

    tokens = teacher_forced(model, state, words, word_dropout=0.4)

    read = heard[0]
    assert (read[:, 0] == BOS).all()
    assert (read[:50, 1:] == UNK).float().mean() == pytest.approx(0.4, abs=0.1)
    assert sorted(tokens.words.tolist()) == sorted(words[words != PAD].tolist())


def test_a_run_with_one_store_cannot_lose_it(project: Path) -> None:
    with pytest.raises(UsageError, match="slot_dropout takes whole stores away, and the run reads only one"):
        prepare(replace_(slot_dropout=0.1), captions=project / "data/captions", max_words=10, device="cpu")


def replace_(**changes: object) -> Train:
    return SETTINGS.model_copy(update=changes)


def test_weights_are_averaged_and_come_back() -> None:
    layer = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    with averaged_weights(optimizer):  # none yet
        first = layer.weight.item()
    average = None
    for update in range(20):
        optimizer.zero_grad()
        layer(torch.ones(1)).backward()
        optimizer.step()
        update_average(optimizer, 0.5, updates=update)
        now, decay = layer.weight.item(), min(0.5, (1 + update) / (10 + update))
        average = now if average is None else decay * average + (1 - decay) * now

    assert layer.weight.item() == pytest.approx(first - 20)
    with averaged_weights(optimizer):
        assert layer.weight.item() == pytest.approx(average, abs=1e-4)
    assert layer.weight.item() == pytest.approx(first - 20)


def test_the_published_model_is_the_average_and_a_stopped_run_goes_on_to_the_same_bytes(project: Path) -> None:
    chosen = replace_(
        epochs=3, feature_dropout=0.1, frame_dropout=0.2, word_dropout=0.2, weight_average=0.9, label_smoothing=0.1
    )
    train(chosen, "runs/whole")
    trainer = prepare(chosen, captions=project / "data/captions", max_words=10, device="cpu")

    class StoppedError(Exception):
        """In the second epoch, with half of it kept."""

    def stop(line: object) -> None:
        if getattr(line, "epoch", 0) == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        replace(trainer, on_epoch=stop, keep_every=0.0).run()
    train(chosen, "runs/again")

    whole, again = (project / f"runs/{name}/model.safetensors" for name in ("whole", "again"))
    assert whole.read_bytes() == again.read_bytes()
    record = open_run(project / "runs/whole", device="cpu").params
    assert (record.word_dropout, record.weight_average) == (0.2, 0.9)
    train(replace_(epochs=3, feature_dropout=0.1, frame_dropout=0.2, word_dropout=0.2, label_smoothing=0.1), "runs/own")
    assert (project / "runs/own/model.safetensors").read_bytes() != whole.read_bytes()
