"""Global2Local: the sampler's choices and gradients, rows of different stores, and the sizes that the paper states."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st

from models.base import Features, Modality
from models.g2l import G2l, _groups
from models.parts.gumbel import gumbel_like, gumbel_top_k, top_k
from models.parts.layers import BilinearAttention, side_by_side
from pipeline.corpus.vocabulary import BOS

SMALL: dict[str, Any] = {
    "word_size": 6, "hidden_size": 8, "visual_size": 10, "aligned_size": 5, "attention_size": 7,
}  # fmt: skip
SIZES = {"appearance": 4, "motion": 3, "regions": 5}


def make(sizes: dict[str, int] = SIZES, **options: Any) -> G2l:
    torch.manual_seed(0)
    return G2l(vocabulary=9, sizes=sizes, **{**SMALL, **options}).eval()


def rows(count: int, *shape: int, real: int | None = None, seed: int = 0) -> Modality:
    values = torch.randn(1, count, *shape, generator=torch.Generator().manual_seed(seed))
    return Modality(values, torch.arange(count).unsqueeze(0) < (count if real is None else real))


def video(frames: int = 7, clips: int = 7, region_rows: int = 3) -> Features:
    return {"appearance": rows(frames, 4), "motion": rows(clips, 3, seed=1), "regions": rows(region_rows, 4, 5, seed=2)}


def everywhere(weights: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(weights, dtype=torch.bool)


def first_logits(model: G2l, features: Features) -> torch.Tensor:
    """After one word: at the very first the hidden state is zero and every row weighs the same."""
    step = model.step(model.encode(features), torch.tensor([BOS]))
    return model.logits(model.step(step.state, torch.tensor([5])).output)


def test_without_noise_the_largest_are_chosen_in_turn() -> None:
    weights = torch.tensor([[0.1, 0.5, 0.15, 0.25]])

    for temperature, backward in ((1e-4, None), (1e-4, 1.0)):
        chosen = gumbel_top_k(
            weights, everywhere(weights), count=2, temperature=temperature, noise=False, backward_temperature=backward
        )
        assert chosen.tolist() == [[[0, 1, 0, 0], [0, 0, 0, 1]]]
    assert top_k(weights, everywhere(weights), count=2).tolist() == [[[0, 1, 0, 0], [0, 0, 0, 1]]]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 12), count=st.integers(1, 4), noise=st.booleans())
def test_every_choice_is_another_real_row(seed: int, rows: int, count: int, noise: bool) -> None:
    """Hard choices of real rows, none twice; a video with fewer rows than choices gives what it has."""
    torch.manual_seed(seed)
    weights = torch.rand(1, 12).softmax(-1)
    mask = torch.arange(12).unsqueeze(0) < rows

    chosen = gumbel_top_k(weights, mask, count=count, temperature=1e-4, noise=noise, backward_temperature=1.0)[0]

    assert chosen.sum() == min(rows, count)
    assert chosen.sum(0).max() <= 1
    assert chosen[:, rows:].count_nonzero() == 0


@pytest.mark.parametrize(("noise", "backward"), [(False, None), (False, 1.0), (True, None), (True, 1.0)])
def test_a_chosen_row_does_not_come_again_where_all_others_weigh_nothing(noise: bool, backward: float | None) -> None:
    """As when attention is sure, or masked to its largest weights."""
    torch.manual_seed(0)
    weights = torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(50, 4)

    chosen = gumbel_top_k(
        weights, everywhere(weights), count=3, temperature=1e-4, noise=noise, backward_temperature=backward
    )

    assert chosen[:, 0, 0].tolist() == [1.0] * 50
    assert chosen[:, 1:, 0].count_nonzero() == 0


def test_noise_chooses_as_often_as_the_weights_say() -> None:
    torch.manual_seed(0)
    weights = torch.tensor([0.1, 0.6, 0.3]).expand(4000, 3)

    first = gumbel_top_k(weights, everywhere(weights), count=1, temperature=1e-4, noise=True)[:, 0].mean(0)

    torch.testing.assert_close(first, weights[0], atol=0.03, rtol=0)


def test_noise_is_always_finite() -> None:
    torch.manual_seed(0)
    assert gumbel_like(torch.zeros(1_000_000)).isfinite().all()


def test_the_papers_temperature_lets_almost_no_gradient_through() -> None:
    """The reason for the straight-through option."""
    torch.manual_seed(0)
    scores = torch.randn(2000, 20, requires_grad=True)
    value = torch.randn(20)

    def share_with_gradient(backward: float | None) -> float:
        chosen = gumbel_top_k(
            scores.softmax(-1),
            everywhere(scores),
            count=1,
            temperature=1e-4,
            noise=True,
            backward_temperature=backward,
        )
        (gradient,) = torch.autograd.grad((chosen[:, 0] @ value).sum(), scores)
        return float((gradient.abs().amax(1) > 1e-3).float().mean())

    assert share_with_gradient(None) < 0.02
    assert share_with_gradient(1.0) > 0.95


def test_three_frames_share_a_row_of_regions() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.0, 0.3, 0.0, 0.1]])

    torch.testing.assert_close(_groups(weights).mean(-1), torch.tensor([[0.2, 0.1, 0.1 / 3]]))


def test_the_attention_is_bilinear() -> None:
    attention = BilinearAttention(query=2, memory=2, width=2)
    for part in (attention.query, attention.memory):
        part.weight.data = torch.eye(2)
    attention.score.weight.data = torch.ones(1, 2)
    attention.bias.data = torch.tensor([0.1, 0.0])
    query, memory = torch.tensor([[1.0, 2.0]]), torch.tensor([[[0.5, 0.25], [1.0, -1.0]]])

    weights = attention(query, attention.keys(memory), torch.ones(1, 2, dtype=torch.bool))

    scores = torch.tensor([[0.6, 0.5], [1.1, -2.0]]).tanh().sum(1)
    torch.testing.assert_close(weights[0], scores.softmax(0))


def test_rows_are_real_where_all_inputs_are() -> None:
    joint = side_by_side([rows(5, 2, real=4), rows(4, 3, real=3)])

    assert joint.values.shape == (1, 4, 5)
    assert joint.mask.tolist() == [[True, True, True, False]]


@pytest.mark.parametrize(
    ("frames", "clips", "regions"), [(7, 7, 3), (7, 6, 3), (7, 7, 2), (7, 7, 9), (1, 1, 1), (8, 5, 2)]
)
def test_stores_may_have_different_numbers_of_rows(frames: int, clips: int, regions: int) -> None:
    step = make().step(make().encode(video(frames, clips, regions)), torch.tensor([BOS]))

    assert step.attention["time"].shape == (1, min(frames, clips))
    assert step.attention["region"].shape == (1, 2, 4)
    groups = min(2, regions, -(-min(frames, clips) // 3))
    torch.testing.assert_close(step.attention["region"].sum(-1), torch.tensor([[1.0, float(groups > 1)]]))


def test_only_regions_of_key_frames_matter() -> None:
    """Other frames' regions may be anything; the chosen ones' may not."""
    model, features = make(key_frames=1), video()
    state = model.encode(features)
    state = model.step(state, torch.tensor([BOS])).state
    time = model.step(state, torch.tensor([5])).attention["time"]
    key = int(_groups(time).mean(-1).argmax())

    def said(changed: int) -> torch.Tensor:
        regions = features["regions"].values.clone()
        regions[:, changed] += 1.0
        other = model.encode({**features, "regions": Modality(regions, features["regions"].mask)})
        # The first word looks at a frame of its own, so go on from the same state.
        moved = state | {name: other[name] for name in ("regions", "regions keys", "real")}
        return model.logits(model.step(moved, torch.tensor([5])).output)

    plain = model.logits(model.step(state, torch.tensor([5])).output)
    assert not torch.allclose(said(key), plain, atol=1e-4)
    torch.testing.assert_close(said((key + 1) % 3), plain, atol=1e-6, rtol=0)


def test_a_frame_with_fewer_regions_is_not_looked_at_beyond_them() -> None:
    features = video()
    features["regions"].values[:, :, 2:] = 0.0  # two regions per frame, filled up with zeros

    step = make().step(make().encode(features), torch.tensor([BOS]))

    assert step.attention["region"][..., 2:].count_nonzero() == 0
    torch.testing.assert_close(step.attention["region"].sum(-1), torch.ones(1, 2))


def test_evaluation_draws_nothing_and_training_does() -> None:
    model, features = make(), video(frames=30, clips=30, region_rows=10)
    assert torch.equal(first_logits(model, features), first_logits(model, features))

    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.train()
    drawn = torch.cat([first_logits(model, features) for _ in range(8)])
    assert drawn.unique(dim=0).shape[0] > 1


def test_argmax_teaches_the_choice_nothing() -> None:
    """Without Gumbel the aligned attention learns only through what it weighs itself."""
    features = video(frames=30, clips=30, region_rows=10)

    def gradient(sampler: str) -> torch.Tensor:
        model = make(sampler=sampler, backward_temperature=1.0)
        state = model.step(model.encode(features), torch.tensor([BOS])).state
        local, *_ = model._local(model._look("aligned", state), state)
        (found,) = torch.autograd.grad(local.sum(), model.attend["aligned"].score.weight, allow_unused=True)
        return torch.zeros(1) if found is None else found

    assert gradient("argmax").count_nonzero() == 0
    assert gradient("straight_through").count_nonzero() > 0


def test_the_papers_sizes() -> None:
    sizes = {"appearance": 1536, "motion": 2048, "regions": 2048}
    with torch.device("meta"):
        model = G2l(vocabulary=13_491, sizes=sizes)

    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert shapes["lower.weight_ih"] == (3 * 768, 3884)  # [f'; v'; aligned; regions; word]
    assert shapes["upper.weight_ih"] == (3 * 768, 768)
    assert shapes["compact.0.weight"] == (512, 2048)
    assert shapes["attend.aligned.memory.weight"] == (384, 2048)
    assert shapes["read.weight"] == (13_491, 768)
    projections = (1536 + 2048 + 2048 + 3) * 1024
    attentions = 4 * (768 * 384 + 2 * 384) + (3 * 1024 + 2048) * 384
    decoder = 3 * 768 * (3884 + 768 + 2) + 3 * 768 * (768 + 768 + 2) + 2048 * 512 + 512
    words = 13_491 * 300 + (768 + 1) * 13_491
    assert sum(parameter.numel() for parameter in model.parameters()) == projections + attentions + decoder + words


@pytest.mark.parametrize(
    ("options", "inputs", "message"),
    [
        ({"sampler": "dice"}, SIZES, "sampler is 'dice', allowed: gumbel, straight_through, argmax"),
        ({"align": False}, SIZES, "key frames are chosen by the aligned attention"),
        ({"key_frames": -1}, SIZES, "key_frames is -1, allowed: 0 or more"),
        ({"temperature": 0.0}, SIZES, "temperature is 0.0, allowed: above 0"),
        ({"activation": "sin"}, SIZES, "activation is 'sin', allowed: relu, tanh"),
    ],
)
def test_impossible_options_say_what_is_allowed(options: dict[str, Any], inputs: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(inputs, **options)


def test_what_tanh_shows_the_decoder_has_no_large_part_that_all_videos_share() -> None:
    torch.manual_seed(1)
    frames = Modality(20 * torch.randn(64, 5, 4), torch.ones(64, 5, dtype=torch.bool))
    relu, tanh = (
        make({"appearance": 4}, visual_size=200, activation=activation).encode({"appearance": frames})["appearance"]
        for activation in ("relu", "tanh")
    )

    assert tanh.abs().max() <= 1 < relu.max()
    shared = {
        each: (part.mean((0, 1)).norm() / part.norm(dim=-1).mean()).item()
        for each, part in (("relu", relu), ("tanh", tanh))
    }
    assert shared["tanh"] < 0.2 < 0.5 < shared["relu"]


def test_cells_of_a_map_are_regions() -> None:
    features = video()
    values, mask = features["regions"]  # (1, 3, 4, 5)
    maps = {**features, "regions": Modality(values.unflatten(2, (2, 2)), mask)}
    model = make()

    torch.testing.assert_close(first_logits(model, maps), first_logits(model, features))
