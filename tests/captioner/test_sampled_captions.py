"""Sampled captions: as often as the model says, and the same whoever else is in the batch."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from models.base import State, Step, select
from pipeline.captioner.sampled_captions import SampleSearch, forced
from pipeline.captioner.search import Search, beam_search, beam_sentences
from pipeline.captioner.teacher_forcing import BANNED
from pipeline.corpus.vocabulary import BOS, EOS
from tests.captioner.test_search import Bigrams, tables

IDS = ["a", "b", "c", "ü", "\udc80"]  # the last: a name that has no UTF-8


@torch.inference_mode()
def test_words_come_as_often_as_the_model_says() -> None:
    features = tables(2, videos=1)
    drawn = SampleSearch(1, temperature=0.5).draw(Bigrams(), Bigrams().encode(features), ["a"], count=4000)
    counts = Counter(tuple(words) for words in drawn[0])

    first = features["appearance"].values[0, BOS].index_fill(0, torch.tensor(BANNED), -torch.inf) / 0.5
    for word, share in enumerate(first.softmax(-1).tolist()):
        told = () if word == EOS else (word,)
        if word not in BANNED:
            assert counts[told] / 4000 == pytest.approx(share, abs=0.03)
    assert sum(counts.values()) == 4000


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), count=st.sampled_from([1, 3, 300]), order=st.permutations(range(5)))
def test_a_video_has_its_own_samples_in_any_batch(seed: int, count: int, order: list[int]) -> None:
    state, sampling = Bigrams().encode(tables(seed, videos=5)), SampleSearch(4, seed=seed)
    with torch.inference_mode():
        together = sampling.draw(Bigrams(), state, IDS, count=count)
        turned = sampling.draw(Bigrams(), select(state, torch.tensor(order)), [IDS[row] for row in order], count=count)
        alone = sampling.draw(Bigrams(), select(state, torch.tensor([2])), ["c"], count=count)
        other = SampleSearch(4, seed=seed + 1).draw(Bigrams(), state, IDS, count=count)

    assert turned == [together[row] for row in order]
    assert alone == [together[2]]
    assert count < 300 or other != together
    assert not {word for video in together for words in video for word in words} & {*BANNED, EOS}


class CountedRows(Bigrams):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[int] = []

    def step(self, state: State, words: Tensor) -> Step:
        self.rows.append(len(words))
        return super().step(state, words)


@torch.inference_mode()
def test_captions_that_have_said_the_same_are_computed_once() -> None:
    model, state = CountedRows(), Bigrams().encode(tables(3, videos=2))
    found = SampleSearch(3, seed=1).draw(model, state, ["a", "b"], count=40)

    beginnings = [
        {(video, *words[:length]) for video, said in enumerate(found) for words in said if len(words) >= length}
        for length in range(3)
    ]
    assert model.rows == [len(each) for each in beginnings]
    assert model.rows[2] < 80


def test_a_forced_sentence_has_the_probability_and_attention_of_the_search() -> None:
    features = tables(5, videos=30)
    found = beam_search(Bigrams(), features, Search(4, 6))

    again = forced(Bigrams(), Bigrams().encode(features), [each.words for each in found])

    for one, other in zip(found, again, strict=True):
        assert other.words == one.words
        assert other.log_prob == pytest.approx(one.log_prob, abs=1e-4)
        assert other.attention.keys() == one.attention.keys()
        for name, weights in one.attention.items():
            torch.testing.assert_close(other.attention[name], weights)


@torch.inference_mode()
def test_the_beams_of_a_video_are_sentences_and_the_best_comes_first() -> None:
    features, search = tables(7, videos=20), Search(4, 5, length_power=0.7)
    best = beam_search(Bigrams(), features, search)

    found = beam_sentences(Bigrams(), Bigrams().encode(features), [f"v{number}" for number in range(20)], search=search)
    for sentences, one in zip(found, best, strict=True):
        assert sentences[0] == one.words
        assert len({tuple(words) for words in sentences}) == len(sentences) <= 4
