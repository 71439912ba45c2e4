"""Captions read word by word: what the model is shown, and what adds up."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.base import Captioner, Features, Input, LossContext, Modality, State, Step
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.teacher_forcing import BANNED, caption_loss, make_loss_context, teacher_forced
from pipeline.corpus.vocabulary import BOS, EOS, PAD, UNK

VOCABULARY = 9
CAPTIONS = torch.tensor([[4, EOS, PAD, PAD], [5, 6, 7, EOS], [6, 4, EOS, PAD]])


class Parrot(Captioner):
    """Notes every word that it is shown; always says `favourite`."""

    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def __init__(self, favourite: int) -> None:
        super().__init__()
        self.favourite = favourite
        self.shown: list[list[int]] = []
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.dropout = torch.nn.Dropout(0.5)

    def encode(self, features: Features) -> State:
        return {"video": features["appearance"].values[:, 0]}

    def step(self, state: State, words: Tensor) -> Step:
        self.shown.append(words.tolist())
        wish = F.one_hot(torch.full_like(words, self.favourite), VOCABULARY) * 50.0 * self.scale
        return Step(state, wish, attention={}, terms={"words": torch.ones(len(words)), "sums": words.float()})

    def logits(self, output: Tensor) -> Tensor:
        return self.dropout(output)


def state() -> State:
    return {"video": torch.zeros(3, 2)}


def test_right_words_are_shown_and_finished_captions_are_not() -> None:
    model = Parrot(8)
    teacher_forced(model, state(), CAPTIONS)

    assert model.shown == [[BOS] * 3, [5, 6, 4], [6, 4], [7]]  # the longest first


def test_own_words_only_never_shows_a_right_word() -> None:
    model = Parrot(8).eval()
    teacher_forced(model, state(), CAPTIONS, own_words=1.0)

    assert model.shown == [[BOS] * 3, [8, 8, 8], [8, 8], [8]]


def test_own_words_are_shown_as_often_as_asked() -> None:
    model, captions = Parrot(8).eval(), torch.full((4000, 3), 4)
    captions[:, -1] = EOS
    torch.manual_seed(0)
    teacher_forced(model, {"video": torch.zeros(4000, 2)}, captions, own_words=0.25)

    own = torch.tensor(model.shown[1:]).eq(8).float().mean()
    assert own.item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("favourite", BANNED)
def test_words_that_must_not_come_out_are_not_read_as_own_words(favourite: int) -> None:
    model = Parrot(favourite)
    teacher_forced(model, state(), CAPTIONS, own_words=1.0)

    assert not {word for words in model.shown[1:] for word in words} & set(BANNED)


def test_losses_and_terms_belong_to_their_captions() -> None:
    model = Parrot(4).eval()
    read = caption_loss(teacher_forced(model, state(), CAPTIONS), 3)

    assert read.nll.tolist() == pytest.approx([50.0, 200.0, 100.0], abs=1e-3)  # 50 for each word that is not 4
    assert read.words == 9
    assert read.terms["words"].tolist() == [2, 4, 3]
    assert read.terms["sums"].tolist() == [BOS + 4, BOS + 5 + 6 + 7, BOS + 6 + 4]


def test_label_smoothing_changes_the_loss_and_not_the_likelihood() -> None:
    reading = teacher_forced(Parrot(4).eval(), state(), CAPTIONS)

    plain, smooth = caption_loss(reading, 3), caption_loss(reading, 3, smoothing=0.1)

    assert torch.equal(plain.nll, smooth.nll)
    assert torch.equal(plain.loss, plain.nll)
    expected = 0.9 * plain.nll[0] + 0.1 * (2 * 50.0 * 8 / 9)
    assert smooth.loss[0].item() == pytest.approx(expected.item(), rel=1e-4)


def context_of(model: Parrot, **settings: float) -> LossContext:
    batch = CaptionBatch(["a", "b"], torch.tensor([0, 1, 1]), CAPTIONS, torch.tensor([7, 3, 5]))
    rows = Modality(torch.zeros(2, 1, 2), torch.ones(2, 1, dtype=torch.bool))
    return make_loss_context(model, {"appearance": rows}, batch, tables={}, pairs=9, **settings)


def test_copies_of_a_caption_lie_together() -> None:
    model = Parrot(8)
    model.copies = 2
    context = context_of(model)

    assert context.video_of.tolist() == [0, 0, 1, 1, 1, 1]
    assert context.captions.tolist() == [7, 7, 3, 3, 5, 5]
    assert len(context.score(context.state).nll) == 6


def test_a_quiet_reading_has_no_gradient_no_dropout_and_no_own_words() -> None:
    model = Parrot(8).train()
    context = context_of(model, own_words=1.0)

    quiet = context.score_no_grad(context.state)

    assert not quiet.nll.requires_grad
    assert quiet.nll.tolist() == pytest.approx([100.0, 200.0, 150.0], abs=1e-3)
    assert model.shown == [[BOS] * 3, [5, 6, 4], [6, 4], [7]]
    assert model.training
    assert context.score(context.state).nll.requires_grad


def test_unknown_words_are_read_but_never_said() -> None:
    model = Parrot(8)
    teacher_forced(model, {"video": torch.zeros(1, 2)}, torch.tensor([[UNK, 5, EOS]]))

    assert model.shown == [[BOS], [UNK], [5]]


def test_right_words_and_plain_likelihood_unless_told() -> None:
    model = Parrot(8).eval()
    context = context_of(model)

    read = context.score(context.state)

    assert model.shown == [[BOS] * 3, [5, 6, 4], [6, 4], [7]]
    assert read.loss.tolist() == read.nll.tolist() == pytest.approx([100.0, 200.0, 150.0], abs=1e-3)


def test_no_own_word_is_drawn_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw more would give every later one another number."""
    drawn: list[int] = []
    draw = torch.multinomial

    def counted(weights: Tensor, count: int) -> Tensor:
        drawn.append(len(weights))
        return draw(weights, count)

    monkeypatch.setattr(torch, "multinomial", counted)
    teacher_forced(Parrot(8).eval(), state(), CAPTIONS, own_words=0.5)

    assert drawn == [3, 3, 2]  # after the last word, of one caption, none


def test_captions_without_a_word_only_end() -> None:
    model = Parrot(EOS).eval()
    read = caption_loss(teacher_forced(model, state(), torch.full((3, 1), EOS)), 3)

    assert model.shown == [[BOS] * 3]
    assert read.nll.tolist() == pytest.approx([0.0] * 3, abs=1e-6)


@pytest.mark.parametrize(("draw", "shown"), [(0.25, [8, 8, 8]), (0.5, [5, 6, 4]), (0.75, [5, 6, 4])])
def test_an_own_word_is_shown_when_the_draw_is_below_its_probability(
    monkeypatch: pytest.MonkeyPatch, draw: float, shown: list[int]
) -> None:
    """Draws are in [0, 1): below, and not equal, is that often."""
    model = Parrot(8).eval()
    monkeypatch.setattr(torch, "rand", lambda size, **_: torch.full((size,), draw))
    teacher_forced(model, state(), CAPTIONS, own_words=0.5)

    assert model.shown[1] == shown
