"""The rule against sentences that go in circles."""

from __future__ import annotations

import torch
from hypothesis import given, strategies as st

from models.base import Captioner, Modality, Step
from pipeline.captioner.repetition import without_repeats
from pipeline.captioner.search import Search, beam_search
from pipeline.corpus import BOS, EOS
from pipeline.params import Caption

THE, VIDEO, SHOWS = 4, 5, 6


class Loops(Captioner):
    """the video shows the video shows ...: each word follows the one before it, and the end is unlikely."""

    inputs = {}  # noqa: RUF012

    def encode(self, features):  # type: ignore[no-untyped-def]
        return {"nothing": torch.zeros(len(features["appearance"].values), 1)}

    def step(self, state, words):  # type: ignore[no-untyped-def]
        following = {BOS: THE, THE: VIDEO, VIDEO: SHOWS, SHOWS: THE}
        output = torch.full((len(words), 7), -9.0)
        for row, word in enumerate(words.tolist()):
            output[row, following.get(word, EOS)] = 0.0
            output[row, EOS] = max(float(output[row, EOS]), -4.0)
        return Step(state, output, {})

    def logits(self, output):  # type: ignore[no-untyped-def]
        return output


def said(**rule: int) -> list[int]:
    features = {"appearance": Modality(torch.zeros(1, 1, 1), torch.ones(1, 1, dtype=torch.bool))}
    (best,) = beam_search(Loops(), features, Search(beam=1, max_words=12, **rule))
    return best.words


def test_a_loop_ends_where_the_rule_says_and_not_without_it() -> None:
    assert said() == [THE, VIDEO, SHOWS] * 4
    assert said(no_repeat=3) == [THE, VIDEO, SHOWS, THE, VIDEO]
    assert said(no_repeat=2) == [THE, VIDEO, SHOWS, THE]
    assert said(no_repeat=1) == [THE, VIDEO, SHOWS]


@given(st.lists(st.integers(4, 7), max_size=12), st.integers(1, 4))
def test_exactly_the_words_that_complete_a_run_again_are_impossible(sentence: list[int], n: int) -> None:
    words = torch.tensor([[BOS, *sentence]])
    allowed = without_repeats(torch.zeros(1, 8), words, n)[0].isfinite().tolist()
    runs = {tuple(sentence[start : start + n]) for start in range(len(sentence) - n + 1)}

    for word in range(8):
        run = tuple([*sentence, word][-n:])
        assert allowed[word] == (len(run) < n or run not in runs)


def test_the_key_decides_a_result_only_where_it_is_set() -> None:
    assert "no_repeat" not in Caption().deciding
    assert "no_repeat" not in Caption(no_repeat=0).deciding
    assert Caption(no_repeat=3).deciding["no_repeat"] == 3
    assert [Search.of(Caption(no_repeat=rule)).no_repeat for rule in (None, 0, 3)] == [0, 0, 3]
