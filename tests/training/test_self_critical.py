"""Self-critical training: its gradient against exact enumeration, and a reward that rises."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from models.base import CHOICE, Captioner, Features, Input, State, Step
from pipeline.captioner.search import greedy, sample
from pipeline.captioner.teacher_forcing import BANNED
from pipeline.corpus.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary
from pipeline.training.self_critical import draw_captions, judge_captions, mean_of_others, self_critical_loss

VOCABULARY = Vocabulary((*SPECIALS, "red", "ball"))
MAX_WORDS = 3
WORTH = {"red ball": 3.0, "ball": 1.0, "red": 0.5, "ball red ball": 2.0}


class Bigrams(Captioner):
    """The next word depends on the previous one: all parameters are one table of scores."""

    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(6, 6, generator=torch.Generator().manual_seed(0)))

    def encode(self, features: Features) -> State:
        return {"video": features["appearance"].values}

    def step(self, state: State, words: Tensor) -> Step:
        return Step(state, self.table[words], attention={})

    def logits(self, output: Tensor) -> Tensor:
        return output


def worth(videos: Sequence[str], sentences: Sequence[str], ended: Sequence[bool]) -> np.ndarray:
    assert len(videos) == len(sentences)
    assert list(ended) == [len(sentence.split()) < MAX_WORDS for sentence in sentences]
    return np.array([WORTH.get(sentence, 0.0) for sentence in sentences])


def every_sentence(model: Bigrams) -> dict[tuple[int, ...], Tensor]:
    """The log probability of every sentence there is."""
    barred = torch.zeros(6).index_fill(0, torch.tensor(BANNED), -torch.inf)
    log_probs = (model.table + barred).log_softmax(-1)
    found = {}
    for length in range(MAX_WORDS + 1):
        for words in itertools.product((4, 5), repeat=length):
            path = [BOS, *words] + ([EOS] if length < MAX_WORDS else [])  # the longest end without a choice
            found[words] = sum((log_probs[a, b] for a, b in itertools.pairwise(path)), torch.zeros(()))
    return found


def rows(count: int) -> State:
    return {"video": torch.zeros(count, 1)}


def loss(model: Captioner, count: int, *, baseline: Any = "greedy", rewards: Any = worth) -> Tensor:
    video_of = torch.zeros(count, dtype=torch.long)
    drawn, log_prob = draw_captions(model, rows(1), ["v"], video_of=video_of, max_words=MAX_WORDS, baseline=baseline)
    (judgement,) = judge_captions([drawn], rewards=rewards, vocabulary=VOCABULARY, max_words=MAX_WORDS)
    return self_critical_loss(log_prob, judgement)


def gradient_of_the_expected_reward(model: Bigrams) -> Tensor:
    expected = sum(log_prob.exp() * value_of(words) for words, log_prob in every_sentence(model).items())
    return torch.autograd.grad(expected, model.table)[0]


def value_of(words: Sequence[int]) -> float:
    return WORTH.get(" ".join(VOCABULARY.words[word] for word in words), 0.0)


def test_drawn_sentences_know_their_own_probability() -> None:
    model = Bigrams()
    exact = every_sentence(model)
    torch.manual_seed(0)
    drawn = sample(model, rows(4000), max_words=MAX_WORDS)

    assert sum(value.exp().item() for value in exact.values()) == pytest.approx(1.0)
    said = [tuple(word for word in words if word not in (EOS, PAD)) for words in drawn.words.tolist()]
    assert drawn.log_prob.tolist() == pytest.approx([exact[words].item() for words in said], abs=1e-5)
    for words, log_prob in exact.items():
        assert said.count(words) / 4000 == pytest.approx(log_prob.exp().item(), abs=0.03)


def test_every_sentence_ends_once() -> None:
    torch.manual_seed(0)
    for words in sample(Bigrams(), rows(200), max_words=MAX_WORDS).words.tolist():
        end = words.index(EOS)
        assert not set(words[:end]) & set(BANNED)
        assert set(words[end + 1 :]) <= {PAD}


@pytest.mark.parametrize("baseline", ["greedy", "others"])
def test_the_gradient_is_that_of_the_expected_reward(baseline: str) -> None:
    model = Bigrams()
    exact = gradient_of_the_expected_reward(model)

    torch.manual_seed(0)
    count = 60_000
    drawn_words = (sample(model, rows(count), max_words=MAX_WORDS).words != PAD).sum()
    torch.manual_seed(0)
    (found,) = torch.autograd.grad(-loss(model, count, baseline=baseline) * drawn_words / count, model.table)

    torch.testing.assert_close(found, exact, atol=0.02, rtol=0)
    assert exact.abs().max() > 0.2  # there is something to compare


class Coin(Captioner):
    """A toss before each word, of which the model alone knows, decides what is likely to be said."""

    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def __init__(self) -> None:
        super().__init__()
        self.sides = torch.nn.Parameter(torch.tensor([0.7, 0.0]))
        self.table = torch.tensor([[0.0, 0.0, 5.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0, 1.0, 1.0]])

    def encode(self, features: Features) -> State:
        return {"video": features["appearance"].values}

    def step(self, state: State, words: Tensor) -> Step:
        log_sides = self.sides.log_softmax(0)
        side = torch.multinomial(log_sides.detach().exp(), len(words), replacement=True)  # (B,)
        return Step(state, self.table[side], attention={}, terms={CHOICE: log_sides[side]})

    def logits(self, output: Tensor) -> Tensor:
        return output


def test_what_a_model_draws_besides_words_learns_from_their_reward() -> None:
    """Such as the place and the layer of hard attention; by enumeration of both sides and all sentences."""
    model, count = Coin(), 60_000
    barred = torch.zeros(6).index_fill(0, torch.tensor(BANNED), -torch.inf)
    word = torch.einsum("s,sv->v", model.sides.softmax(0), (model.table + barred).softmax(1))  # (V,) whatever the side
    expected = WORTH["red ball"] * word[4] * word[5] * word[EOS] + WORTH["ball red ball"] * word[5] * word[4] * word[5]
    expected = expected + WORTH["ball"] * word[5] * word[EOS] + WORTH["red"] * word[4] * word[EOS]
    exact = torch.autograd.grad(expected, model.sides)[0]

    torch.manual_seed(0)
    drawn_words = (sample(model, rows(count), max_words=MAX_WORDS).words != PAD).sum()
    torch.manual_seed(0)
    (found,) = torch.autograd.grad(-loss(model, count, baseline="others") * drawn_words / count, model.sides)

    torch.testing.assert_close(found, exact, atol=0.01, rtol=0)
    assert exact.abs().max() > 0.1  # there is something to compare


def test_two_sentences_that_judge_each_other_teach_the_exact_gradient_on_average() -> None:
    """By enumeration of all pairs that can be drawn: nothing is left to chance."""
    model = Bigrams()
    exact = gradient_of_the_expected_reward(model)
    sentences = every_sentence(model)
    taught: Tensor = torch.zeros(())
    for one, other in itertools.product(sentences, repeat=2):
        reward = torch.tensor([value_of(one), value_of(other)])
        advantage = reward - mean_of_others(reward, torch.zeros(2, dtype=torch.long))
        log_prob = torch.stack([sentences[one], sentences[other]])
        taught = taught + log_prob.sum().exp().detach() * (advantage * log_prob).mean()

    torch.testing.assert_close(torch.autograd.grad(taught, model.table)[0], exact, atol=1e-6, rtol=0)


def test_what_sentences_of_a_video_gain_over_the_others_sums_to_zero() -> None:
    video_of = torch.tensor([1, 0, 1, 0, 1])
    reward = torch.tensor([1.0, 5.0, 2.0, 7.0, 6.0])

    others = mean_of_others(reward, video_of)

    assert others.tolist() == [4.0, 7.0, 3.5, 5.0, 1.5]
    gained = torch.zeros(2).index_add(0, video_of, reward - others)
    assert gained.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)


def test_words_that_cannot_come_out_get_no_gradient() -> None:
    model = Bigrams()
    torch.manual_seed(0)
    loss(model, 50).backward()

    assert model.table.grad is not None
    assert model.table.grad[:, list(BANNED)].abs().max() == 0


def test_the_baseline_is_the_greedy_sentence_so_that_saying_it_teaches_nothing() -> None:
    model = Bigrams()
    with torch.no_grad():
        model.table.mul_(1000)  # it always says the same

    assert loss(model, 20).item() == 0.0
    assert len(set(map(tuple, greedy(model, rows(3), max_words=MAX_WORDS).words.tolist()))) == 1


class Forgetful(Bigrams):
    def logits(self, output: Tensor) -> Tensor:
        return torch.nn.functional.dropout(output, 0.5, training=self.training)


def test_the_greedy_sentence_is_said_without_dropout() -> None:
    model, judged = Forgetful().train(), []

    def rewards(videos: Sequence[str], sentences: Sequence[str], ended: Sequence[bool]) -> np.ndarray:
        judged.append(sentences[0])
        return worth(videos, sentences, ended)

    for _ in range(20):
        loss(model, 1, rewards=rewards)
        assert model.training

    certain = VOCABULARY.decode(greedy(model.eval(), rows(1), max_words=MAX_WORDS).words[0].tolist())
    assert len(set(judged[::2])) > 1  # what was drawn
    assert set(judged[1::2]) == {certain}


@pytest.mark.parametrize("baseline", ["greedy", "others"])
def test_training_finds_the_sentence_of_highest_worth(baseline: str) -> None:
    model = Bigrams()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    torch.manual_seed(0)
    for _ in range(60):
        optimizer.zero_grad()
        loss(model, 64, baseline=baseline).backward()
        optimizer.step()

    said = greedy(model, rows(1), max_words=MAX_WORDS).words[0].tolist()
    assert VOCABULARY.decode(said) == "red ball"
