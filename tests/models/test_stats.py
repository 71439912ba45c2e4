"""STaTS: the ranking loss, the two orders of looking, and what each option of the ablations leaves out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.base import Features, Modality
from models.parts.views import POOLS, ranking_loss
from models.parts.word_memory import WordMemory
from models.stats import Stats
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.build_model import build_captioner
from pipeline.captioner.teacher_forcing import make_loss_context
from pipeline.core.errors import UsageError

SIZES = {"appearance": 5}
SMALL = {"word_size": 6, "feature_size": 8, "hidden_size": 7, "attention_size": 4, "dropout": 0.0}


def build(**options: object) -> Stats:
    torch.manual_seed(0)
    return Stats(vocabulary=9, sizes=SIZES, **{**SMALL, **options}).eval()  # type: ignore[arg-type]


def grid(*shape: int, lengths: list[int], seed: int = 0) -> Features:
    values = torch.randn(len(lengths), max(lengths), *shape, 5, generator=torch.Generator().manual_seed(seed))
    return {"appearance": Modality(values, torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1))}


def said(model: Stats, features: Features) -> Tensor:
    return model.logits(model.step(model.encode(features), torch.full((len(features["appearance"].mask),), 1)).output)


def test_ranking_loss_of_the_toy_example() -> None:
    frames = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]])
    loss = ranking_loss(torch.tensor([[1.0, 0.0]]), frames, torch.ones(1, 3, dtype=torch.bool), margin=1.0)

    assert loss.item() == pytest.approx(1.3863, abs=5e-5)


def test_ranking_loss_stops_at_the_last_frame_and_a_single_frame_has_none() -> None:
    direction = torch.tensor([[1.0, 0.0]]).expand(3, 2)
    frames = torch.tensor([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]]).expand(3, 3, 2)
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])

    losses = ranking_loss(direction, frames, mask, margin=1.0)

    assert losses.tolist() == pytest.approx([math.log(2) + math.log1p(math.exp(-7)), math.log(2), 0.0], abs=1e-5)


def test_a_direction_in_time_has_a_lower_loss_than_its_reverse() -> None:
    forward = torch.arange(5.0).view(1, 5, 1)
    mask = torch.ones(1, 5, dtype=torch.bool)

    one, other = (ranking_loss(torch.ones(1, 1), each, mask, margin=1.0) for each in (forward, forward.flip(1)))

    assert one.item() < other.item()


def test_the_model_adds_the_mean_rank_of_a_word_to_the_loss() -> None:
    words = torch.tensor([[4, 5, 2], [6, 2, 0]])
    batch = CaptionBatch(["a", "b"], torch.arange(2), words, torch.arange(2))
    features = grid(2, 2, lengths=[4, 3])
    losses = {}
    for weight in (0.0, 0.1, 1.0):
        model = build(rank_weight=weight)
        losses[weight] = model.loss(make_loss_context(model, features, batch, tables={}, pairs=2)).item()

    assert losses[0.1] - losses[0.0] == pytest.approx((losses[1.0] - losses[0.0]) / 10, rel=1e-3)
    assert losses[1.0] > losses[0.0]


@pytest.mark.parametrize(("pool", "hears_order"), [(pool, "lstm" in pool or "ranked" in pool) for pool in POOLS])
def test_only_an_lstm_knows_the_order_of_frames(pool: str, hears_order: bool) -> None:
    model = build(pool=pool)
    features = grid(2, 3, lengths=[6, 6])
    values, mask = features["appearance"]

    there, back = said(model, features), said(model, {"appearance": Modality(values.flip(1), mask)})

    assert torch.allclose(there, back, atol=1e-5) != hears_order


def test_grid_cells_are_attended_alike_in_all_frames_and_regions_frame_by_frame() -> None:
    model = build(branches="st")
    cells = model.step(model.encode(grid(2, 3, lengths=[4, 2])), torch.tensor([1, 1])).attention
    regions = model.step(model.encode(grid(6, lengths=[4, 2])), torch.tensor([1, 1])).attention

    assert {kind: tuple(weights.shape) for kind, weights in cells.items()} == {"place": (2, 6)}
    assert {kind: tuple(weights.shape) for kind, weights in regions.items()} == {"region": (2, 4, 6)}


def test_regions_that_are_not_there_change_nothing() -> None:
    model = build()
    features = grid(3, lengths=[4])
    values, mask = features["appearance"]
    more = torch.cat([values, torch.zeros(1, 4, 2, 5)], 2)

    torch.testing.assert_close(said(model, features), said(model, {"appearance": Modality(more, mask)}))


@pytest.mark.parametrize("frame", [0, 1])  # the one that is chosen, and another
def test_a_low_temperature_looks_where_one_frame_alone_would_also_where_frames_have_fewer_regions(frame: int) -> None:
    """What other frames have in a place is not there in the one that was chosen."""
    features = grid(6, lengths=[4])
    features["appearance"].values[:, frame, 1:] = 0.0
    looks = [
        model.step(model.encode(features), torch.tensor([1])).attention["region"]
        for model in (build(branches="ts", temperature=1e-3, one_frame=chosen) for chosen in (False, True))
    ]

    torch.testing.assert_close(*looks, atol=1e-4, rtol=0)


def test_ts_chooses_no_frame_without_regions() -> None:
    features = grid(6, lengths=[4])
    features["appearance"].values[:, 1:3] = 0.0
    attention = build(branches="ts").step(build(branches="ts").encode(features), torch.tensor([1])).attention

    assert attention["time"][0, 1:3].tolist() == [0.0, 0.0]
    torch.testing.assert_close(attention["region"].sum(-1), torch.ones(1))


def test_one_vector_a_frame_equals_a_grid_of_one_cell_and_is_read_once() -> None:
    model = build()
    features = grid(lengths=[4, 2])
    values, mask = features["appearance"]
    state = model.encode(features)

    torch.testing.assert_close(
        said(model, features), said(model, {"appearance": Modality(values.view(2, 4, 1, 1, 5), mask)})
    )
    assert {"appearance.st.vector", "appearance.st.rank"} <= set(state)


def test_a_low_temperature_selects_one_frame() -> None:
    features = grid(2, 2, lengths=[5, 5])
    weights = {}
    for temperature in (1.0, 1e-3):
        model = build(temperature=temperature)
        weights[temperature] = model.step(model.encode(features), torch.tensor([1, 1])).attention["time"]

    assert (weights[1.0].max(1).values < 0.9).all()
    assert (weights[1e-3].max(1).values > 0.99).all()


def test_one_frame_is_chosen_outright_when_asked_and_not_in_training() -> None:
    features = grid(2, 2, lengths=[5, 5])
    model = build(temperature=1.0, one_frame=True)
    state = model.encode(features)

    assert model.step(state, torch.tensor([1, 1])).attention["time"].max(1).values.tolist() == [1.0, 1.0]
    assert (model.train().step(state, torch.tensor([1, 1])).attention["time"].max(1).values < 1).all()


@pytest.mark.parametrize("branches", ["st", "ts"])
def test_one_branch_has_no_parameters_of_the_other(branches: str) -> None:
    names = [name for name, _ in build(branches=branches).named_parameters()]

    other = {"st": "ts", "ts": "st"}[branches]
    assert any(f".views.{branches}." in name for name in names)
    assert not any(f".views.{other}." in name or ".choice." in name for name in names)


def test_words_so_far_are_recalled_up_to_the_length_of_the_memory() -> None:
    torch.manual_seed(0)
    memory = WordMemory(size=6, width=4, length=3)
    words = torch.randn(5, 1, 6)
    state = memory.first_state(words[0])
    for word in words:
        state, recalled = memory(state, word)

    last = words[2:, 0]  # (3, E): the first two have left
    weights = (memory.key(last) @ memory.query(words[-1, 0]) / 2).softmax(0)
    torch.testing.assert_close(recalled[0], weights @ memory.value(last))


def test_the_papers_sizes() -> None:
    """I3D's 2048 to 512, words of 256, an attention space of 128; the LSTM of Eq. 8 is as wide as what it ranks."""
    with torch.device("meta"):
        model = Stats(vocabulary=13_010, sizes={"appearance": 2048, "motion": 2048})

    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    for modality in ("appearance", "motion"):
        block = f"blocks.{modality}"
        assert shapes[f"{block}.project.0.weight"] == (512, 2048)
        assert shapes[f"{block}.views.st.reader.weight_hh_l0"] == (4 * 512, 512)
        for attention in ("st.place", "ts.frame", "ts.place"):
            assert shapes[f"{block}.views.{attention}.memory.weight"] == (128, 512)
            assert shapes[f"{block}.views.{attention}.query.weight"] == (128, 512 + 256)  # [h; c]
    assert shapes["embed.weight"] == (13_010, 256)
    assert shapes["cell.weight_ih"] == (4 * 512, 256 + 2 * 512)  # [word; each modality]


def test_an_unknown_pool_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"stats: pool is 'max'; known: mean, lstm, ranked"):
        build_captioner("stats", vocabulary=9, sizes=SIZES, options={"pool": "max"})
