"""What decoding says about its words: their probabilities, and where the model looked, whichever beam won."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from models.base import CHOICE, State, Step
from pipeline.captioner.search import SampledCaptions, Search, beam_search, greedy, sample
from pipeline.captioner.teacher_forcing import mask_special_tokens
from pipeline.corpus.vocabulary import BOS, EOS, PAD
from tests.captioner.test_search import Bigrams, best_by_enumeration, tables


def cost(table: Tensor, words: list[int]) -> float:
    """Log probability of the words one after the other, the first after BOS."""
    log_probs = mask_special_tokens(table)
    return float(sum(log_probs[a, b] for a, b in itertools.pairwise([BOS, *words])))


def chosen(captions: SampledCaptions, row: int, *, max_words: int) -> list[int]:
    """The words, and the end where it was chosen and not forced."""
    words: list[int] = captions.words[row].tolist()
    return [word for word in words if word != PAD][:max_words]


@pytest.mark.parametrize("decode", [greedy, sample])
@pytest.mark.parametrize("max_words", [1, 2, 5])
def test_a_caption_costs_what_its_choices_cost(decode: Any, max_words: int) -> None:
    features = tables(11, videos=40)
    torch.manual_seed(0)

    captions = decode(Bigrams(), Bigrams().encode(features), max_words=max_words)

    assert captions.words.shape[1] <= max_words + 1
    for row, table in enumerate(features["appearance"].values):
        expected = cost(table, chosen(captions, row, max_words=max_words))
        assert float(captions.log_prob[row]) == pytest.approx(expected, abs=1e-4)


class Choosing(Bigrams):
    """A model that makes a choice of its own at every step, of log probability -2."""

    def step(self, state: State, words: Tensor) -> Step:
        step = super().step(state, words)
        return Step(step.state, step.output, step.attention, terms={CHOICE: torch.full((len(words),), -2.0)})


def test_a_models_own_choices_cost_too_until_the_end() -> None:
    features = tables(11, videos=40)

    with_choices, plain = (greedy(kind(), kind().encode(features), max_words=4) for kind in (Choosing, Bigrams))

    assert torch.equal(with_choices.words, plain.words)
    steps = torch.tensor([len(chosen(plain, row, max_words=4)) for row in range(40)])
    torch.testing.assert_close(with_choices.log_prob, plain.log_prob - 2.0 * steps)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 5))
def test_attention_and_cost_are_those_of_the_winner_where_length_decides(seed: int, width: int) -> None:
    """Divided by its length, another beam than the likeliest may win."""
    features = tables(seed, videos=6)

    found = beam_search(Bigrams(), features, Search(width, 5, length_power=1.0))

    for table, sentence in zip(features["appearance"].values, found, strict=True):
        assert sentence.log_prob == pytest.approx(cost(table, [*sentence.words, EOS]), abs=1e-4)
        if sentence.words:
            looked = table[[BOS, *sentence.words[:-1]]].softmax(-1)
            torch.testing.assert_close(sentence.attention["time"], looked)
        else:
            assert sentence.attention == {}


def test_length_counts_for_nothing_unless_told() -> None:
    features = tables(2, videos=20)

    for table, sentence in zip(
        features["appearance"].values, beam_search(Bigrams(), features, Search(60, 3)), strict=True
    ):
        assert sentence.words == best_by_enumeration(table, max_words=3, power=0.0)[0]
