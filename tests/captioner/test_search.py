"""Beam search against exhaustive enumeration, on a model whose probabilities are written down."""

from __future__ import annotations

import itertools
from typing import ClassVar

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from models.base import Captioner, Features, Input, Modality, State, Step
from pipeline.captioner.search import Search, beam_search, greedy, sample
from pipeline.captioner.teacher_forcing import BANNED
from pipeline.corpus.vocabulary import BOS, EOS, PAD

WORDS = 7  # four special words and three others


class Bigrams(Captioner):
    """The next word depends on the previous one and on the video: a table of scores."""

    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def encode(self, features: Features) -> State:
        return {"table": features["appearance"].values}  # (B, V, V)

    def step(self, state: State, words: Tensor) -> Step:
        rows = state["table"][torch.arange(len(words)), words]  # (B, V)
        return Step(state, rows, attention={"time": rows.softmax(-1)})

    def logits(self, output: Tensor) -> Tensor:
        return output


def tables(seed: int, videos: int) -> Features:
    values = 2 * torch.randn(videos, WORDS, WORDS, generator=torch.Generator().manual_seed(seed))
    return {"appearance": Modality(values, torch.ones(videos, WORDS, dtype=torch.bool))}


def best_by_enumeration(table: Tensor, *, max_words: int, power: float) -> tuple[list[int], float]:
    log_probs = table.clone()
    log_probs[:, list(BANNED)] = -torch.inf
    log_probs = log_probs.log_softmax(-1)
    speakable = [word for word in range(WORDS) if word not in (*BANNED, EOS)]
    found = []
    for length in range(1, max_words + 1):  # saying nothing is no sentence
        for words in itertools.product(speakable, repeat=length):
            path = [BOS, *words, EOS]
            score = float(sum(log_probs[a, b] for a, b in itertools.pairwise(path)))
            found.append((score / (length + 1) ** power, list(words), score))
    _, words, score = max(found)
    return words, score


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), power=st.sampled_from([0.0, 0.7, 1.0]))
def test_a_wide_beam_finds_the_best_sentence_of_every_video(seed: int, power: float) -> None:
    features = tables(seed, videos=3)

    sentences = beam_search(Bigrams(), features, Search(60, 3, length_power=power))

    for video, sentence in enumerate(sentences):
        words, score = best_by_enumeration(features["appearance"].values[video], max_words=3, power=power)
        assert sentence.words == words
        assert sentence.log_prob == pytest.approx(score, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 4), max_words=st.integers(1, 5))
def test_neighbours_in_the_batch_do_not_matter(seed: int, width: int, max_words: int) -> None:
    features = tables(seed, videos=4)
    together = beam_search(Bigrams(), features, Search(width, max_words))
    alone = [
        beam_search(
            Bigrams(),
            {slot: Modality(part.values[[video]], part.mask[[video]]) for slot, part in features.items()},
            Search(width, max_words),
        )[0]
        for video in range(4)
    ]

    assert [sentence.words for sentence in together] == [sentence.words for sentence in alone]


def test_special_words_never_come_out_and_length_is_bounded() -> None:
    features = tables(3, videos=50)
    features["appearance"].values[:, :, list(BANNED)] = 50.0  # the model wants nothing else

    for sentence in beam_search(Bigrams(), features, Search(3, 4)):
        assert not set(sentence.words) & {*BANNED, EOS}
        assert len(sentence.words) <= 4


def test_attention_is_that_of_the_words_that_won() -> None:
    """Beams change places at every word, and what they looked at goes with them."""
    features = tables(5, videos=30)
    for table, sentence in zip(
        features["appearance"].values, beam_search(Bigrams(), features, Search(4, 6)), strict=True
    ):
        if sentence.words:
            looked = table[[BOS, *sentence.words[:-1]]].softmax(-1)
            torch.testing.assert_close(sentence.attention["time"], looked)


class CountedRows(Bigrams):
    """How many hypotheses each step has moved on."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[int] = []

    def step(self, state: State, words: Tensor) -> Step:
        self.rows.append(len(words))
        return super().step(state, words)


def test_no_step_is_made_whose_word_can_change_nothing() -> None:
    features = tables(3, videos=5)
    features["appearance"].values[:, :, EOS] = 9.0  # a sentence of one word is likelier than all longer ones together
    features["appearance"].values[:, BOS, EOS] = -9.0
    model = CountedRows()

    assert [len(sentence.words) for sentence in beam_search(model, features, Search(3, 8))] == [1] * 5
    assert model.rows == [5, 15]  # one hypothesis a video before the first word
    beam_search(model, features, Search(3, 8, length_power=1.0))
    assert len(model.rows) > 4  # divided by its length a longer sentence may still be better


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 4), power=st.sampled_from([0.0, 1.0]))
def test_where_nothing_is_likeliest_the_best_sentence_is_said_and_others_stay(
    seed: int, width: int, power: float
) -> None:
    search = Search(width, 4, length_power=power)
    features = tables(seed, videos=4)
    others = [sentence.words for sentence in beam_search(Bigrams(), features, search)]
    features["appearance"].values[::2, BOS, EOS] = 30.0  # every second video would rather be silent
    found = [sentence.words for sentence in beam_search(Bigrams(), features, search)]

    assert all(found)
    assert found[1::2] == others[1::2]


def test_a_model_that_has_no_word_to_say_says_nothing() -> None:
    features = tables(3, videos=2)
    features["appearance"].values[:, :, EOS + 2 :] = -torch.inf

    assert [sentence.words for sentence in beam_search(Bigrams(), features, Search(3, 4))] == [[], []]


def test_greedy_is_a_beam_of_one() -> None:
    features = tables(7, videos=30)
    spoken = greedy(Bigrams(), Bigrams().encode(features), max_words=4).words.tolist()
    searched = [sentence.words for sentence in beam_search(Bigrams(), features, Search(1, 4))]
    said = [row[: row.index(EOS)] for row in spoken]

    assert [words for words in said if words] == [other for words, other in zip(said, searched, strict=True) if words]
    assert len(set(map(len, said))) > 2


def test_what_is_drawn_has_no_special_words_and_ends() -> None:
    features = tables(3, videos=50)
    features["appearance"].values[:, :, list(BANNED)] = 50.0
    torch.manual_seed(0)

    for row in sample(Bigrams(), Bigrams().encode(features), max_words=4).words.tolist():
        end = row.index(EOS)
        assert end <= 4
        assert not {*row[:end]} & {*BANNED}
        assert {*row[end + 1 :]} <= {PAD}
