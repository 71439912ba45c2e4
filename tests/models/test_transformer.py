"""The transformer: words in parallel as one by one, no look ahead, and rows placed by their seconds alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from models.base import Features, Modality, State
from models.parts.ensemble import Ensemble, joined
from models.soft_attention import SoftAttention
from models.transformer import NOTHING, Transformer
from pipeline.captioner.search import Search, beam_search
from pipeline.captioner.teacher_forcing import mask_special_tokens, teacher_forced
from pipeline.corpus.vocabulary import BOS, EOS

VOCABULARY, SIZES = 30, {"appearance": 6, "motion": 4, "regions": 5}


def build(**options: int) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(vocabulary=VOCABULARY, sizes=SIZES, word_size=8, hidden_size=16, heads=2, **options)
    return model.double().eval()


def rows(*shape: int, real: int, seed: int) -> Modality:
    values = torch.randn(2, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    mask = torch.arange(shape[0]) < torch.tensor([[shape[0]], [real]])
    return Modality(values, mask, torch.arange(shape[0]).expand(2, -1) * 0.8 + seed)


def features(seed: int = 0) -> Features:
    return {
        "appearance": rows(5, 6, real=3, seed=seed),
        "motion": rows(2, 4, real=1, seed=seed + 1),
        "regions": rows(2, 3, 5, real=2, seed=seed + 2),
    }


def words(seed: int, *, count: int) -> Tensor:
    return torch.randint(3, VOCABULARY, (2, count), generator=torch.Generator().manual_seed(seed))


def one_by_one(model: Transformer, state: State, read: Tensor) -> Tensor:
    outputs = []
    for word in read.T:
        step = model.step(state, word)
        state = step.state
        outputs.append(step.output)
    return torch.stack(outputs, 1)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), count=st.integers(1, 9), layers=st.integers(1, 3))
def test_cached_words_are_what_all_of_them_at_once_are(seed: int, count: int, layers: int) -> None:
    model = build(decoder_layers=layers)
    state, read = model.encode(features(seed)), words(seed, count=count)

    torch.testing.assert_close(one_by_one(model, state, read), model.all_steps(state, read), atol=1e-6, rtol=0)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), place=st.integers(1, 7))
def test_no_word_sees_a_later_one(seed: int, place: int) -> None:
    model, read = build(), words(seed, count=8)
    state, other = model.encode(features()), read.clone()
    other[:, place:] = words(seed + 1000, count=8 - place)

    one, changed = model.all_steps(state, read), model.all_steps(state, other)

    assert torch.equal(one[:, :place], changed[:, :place])
    assert torch.equal(read[:, place:], other[:, place:]) or not torch.equal(one, changed)


def test_a_search_finds_what_recomputing_every_word_finds() -> None:
    """Greedy, from the words so far and nothing cached."""
    model, given_ = build(), features()
    state, said = model.encode(given_), torch.full((2, 1), BOS)
    for _ in range(4):
        scores = model.logits(model.all_steps(state, said)[:, -1]).index_fill(1, torch.tensor([0, BOS, 3, EOS]), -1e9)
        said = torch.cat([said, scores.argmax(1, keepdim=True)], 1)

    model.read[-1].bias.data[EOS] = -1e9  # no end before the longest length
    found = beam_search(model, given_, Search(1, 4))

    assert [each.words for each in found] == said[:, 1:].tolist()


@settings(max_examples=15, deadline=None)
@given(order=st.permutations([0, 1, 2]), slots=st.permutations([*SIZES]))
def test_rows_are_known_by_their_seconds_and_slots_by_their_names(order: list[int], slots: list[str]) -> None:
    model, given_, read = build(), features(), words(1, count=4)
    appearance = given_["appearance"]
    places = torch.tensor([*order, 3, 4])  # the second video has three rows, and rubbish after them
    turned = Modality(*(each[:, places] for each in (appearance.values, appearance.mask, appearance.seconds)))

    one = model.all_steps(model.encode(given_), read)
    other = model.all_steps(model.encode({name: {**given_, "appearance": turned}[name] for name in slots}), read)

    torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


def test_the_same_rows_at_other_seconds_are_another_video() -> None:
    model, given_, read = build(), features(), words(1, count=4)
    appearance = given_["appearance"]
    later = {**given_, "appearance": Modality(*appearance, appearance.seconds + 3)}
    unknown = {**given_, "appearance": Modality(*appearance)}
    numbered = {**given_, "appearance": Modality(*appearance, torch.arange(5).expand(2, -1) + 0.5)}

    said = [model.all_steps(model.encode(each), read) for each in (given_, later, unknown, numbered)]

    assert (said[0] - said[1]).abs().max() > 1e-3
    torch.testing.assert_close(said[2], said[3])


def test_attention_is_told_by_slot_and_by_row() -> None:
    model, given_ = build(), features()
    found = model.step(model.encode(given_), torch.full((2,), BOS)).attention

    assert model.columns() == {"slot": [NOTHING, "appearance", "motion", "regions"]}
    torch.testing.assert_close(found["slot"].sum(1), torch.ones(2))
    assert found["time"].shape == (2, 5)
    blind = model.encode({**given_, "motion": Modality(given_["motion"].values, torch.zeros(2, 2, dtype=torch.bool))})
    assert model.step(blind, torch.full((2,), BOS)).attention["slot"][:, 2].tolist() == [0.0, 0.0]


def test_scheduled_sampling_goes_word_by_word_and_learns() -> None:
    model = build().train()
    torch.manual_seed(0)
    targets = torch.tensor([[5, 6, 7, EOS], [8, EOS, 0, 0]])
    teacher_forced(model, model.encode(features()), targets, own_words=0.5).logits.sum().backward()

    assert all(each.grad is not None for each in model.parameters())


def test_beside_an_lstm_the_mean_of_both_is_searched() -> None:
    lstm = SoftAttention(vocabulary=VOCABULARY, sizes={"appearance": 6}, hidden_size=8, word_size=4).double().eval()
    given_ = joined([features(), {"appearance": features()["appearance"]}])
    together = Ensemble([build(), lstm])

    found = beam_search(together, given_, Search(3, 5))

    for video, sentence in enumerate(found):
        said = torch.tensor([[*sentence.words, EOS]])
        state = {name: each[video : video + 1] for name, each in together.encode(given_).items()}
        scores = mask_special_tokens(teacher_forced(together, state, said).logits)
        assert sentence.log_prob == pytest.approx(scores.gather(1, said.T).sum().item(), abs=1e-4)
        assert sentence.attention["time"].shape == (len(sentence.words), 5)


def test_heads_must_share_the_size() -> None:
    with pytest.raises(ValueError, match="hidden_size is 16 and heads is 3"):
        Transformer(vocabulary=9, sizes=SIZES, hidden_size=16, heads=3)
