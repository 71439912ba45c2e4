"""Softmax, means and attentions against their formulas, row by row; padding is never part of them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.base import Modality
from models.parts.layers import (
    AdditiveAttention,
    BilinearAttention,
    ProductAttention,
    as_regions,
    masked_mean,
    masked_softmax,
    real_regions,
    side_by_side,
)

MASK = torch.tensor([[True, True, False], [False, True, True], [True, False, False], [False, False, False]])


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_a_masked_softmax_is_that_of_the_real_entries_alone() -> None:
    scores = draw(4, 3)

    found = masked_softmax(scores, MASK)

    for row, real in enumerate(MASK):
        assert found[row, ~real].tolist() == [0.0] * int((~real).sum())
        torch.testing.assert_close(found[row, real], scores[row, real].exp() / scores[row, real].exp().sum())


def test_a_masked_mean_is_that_of_the_real_rows_alone_and_of_none_it_is_zero() -> None:
    values = draw(4, 3, 2)

    found = masked_mean(values, MASK)

    for row, real in enumerate(MASK[:3]):
        torch.testing.assert_close(found[row], values[row, real].mean(0))
    assert found[3].tolist() == [0.0, 0.0]


def test_rows_side_by_side_are_as_many_as_the_shorter_has_and_real_where_both_are() -> None:
    longer = Modality(draw(2, 4, 3), torch.tensor([[True, True, True, True], [True, False, True, True]]))
    shorter = Modality(draw(2, 3, 5, seed=1), torch.tensor([[True, True, False], [True, True, True]]))

    values, mask = side_by_side([longer, shorter])

    assert values.shape == (2, 3, 8)
    assert torch.equal(values[1, 2], torch.cat([longer.values[1, 2], shorter.values[1, 2]]))
    assert mask.tolist() == [[True, True, False], [True, False, True]]


def test_cells_of_a_map_become_regions_line_by_line() -> None:
    maps = Modality(draw(1, 2, 3, 4, 5), torch.ones(1, 2, dtype=torch.bool))

    values, mask = as_regions(maps)

    assert values.shape == (1, 2, 12, 5)
    assert torch.equal(values[0, 1, 4 * 2 + 3], maps.values[0, 1, 2, 3])
    assert mask is maps.mask
    assert torch.equal(as_regions(Modality(values, mask)).values, values)


def test_a_region_is_real_in_a_real_row_where_it_is_not_all_zeros() -> None:
    values = torch.zeros(1, 3, 2, 3)
    values[0, 0, 1, 2], values[0, 1], values[0, 2] = -1.0, 1.0, 1.0
    mask = torch.tensor([[True, True, False]])

    assert real_regions(Modality(values, mask)).tolist() == [[[False, True], [True, True], [False, False]]]


Attention = AdditiveAttention | BilinearAttention | ProductAttention


def formula(attention: Attention, query: Tensor, memory: Tensor) -> Tensor:
    """The score of one row, as its docstring writes it."""
    asked, known = attention.query.weight @ query, attention.memory.weight @ memory
    if isinstance(attention, AdditiveAttention):
        inner = asked + attention.query.bias + known
    elif isinstance(attention, BilinearAttention):
        inner = asked * known + attention.bias
    else:
        inner = asked * known
    return attention.score.weight[0] @ inner.tanh()


@pytest.mark.parametrize("kind", [AdditiveAttention, BilinearAttention, ProductAttention])
def test_an_attention_is_its_formula(kind: type[Attention]) -> None:
    torch.manual_seed(0)
    attention = kind(query=2, memory=3, width=4)
    if isinstance(attention, BilinearAttention):
        assert attention.bias.tolist() == [0.0] * 4
        attention.bias.data = draw(4)
    query, memory = draw(3, 2), draw(3, 3, 3, seed=1)

    weights = attention(query, attention.keys(memory), MASK[:3])

    assert attention.score.weight.shape == (1, 4)
    for video, real in enumerate(MASK[:3]):
        scores = torch.stack([formula(attention, query[video], row) for row in memory[video, real]])
        torch.testing.assert_close(weights[video, real], scores.softmax(0))
        assert weights[video, ~real].count_nonzero() == 0


@pytest.mark.parametrize("kind", [AdditiveAttention, BilinearAttention])
def test_a_query_meets_every_region_of_every_row(kind: type[AdditiveAttention | BilinearAttention]) -> None:
    torch.manual_seed(0)
    attention = kind(query=2, memory=3, width=4)
    query, memory, mask = draw(2, 2), draw(2, 3, 5, 3, seed=1), torch.ones(2, 3, 5, dtype=torch.bool)

    weights = attention(query, attention.keys(memory), mask)

    for row in range(3):
        torch.testing.assert_close(weights[:, row], attention(query, attention.keys(memory[:, row]), mask[:, row]))


def test_a_temperature_divides_the_scores_and_is_one_unless_told() -> None:
    torch.manual_seed(0)
    attention = AdditiveAttention(query=2, memory=3, width=4)
    query, keys, mask = draw(1, 2), attention.keys(draw(1, 4, 3, seed=1)), torch.ones(1, 4, dtype=torch.bool)

    plain, flat = attention(query, keys, mask), attention(query, keys, mask, temperature=2.0)

    torch.testing.assert_close(plain, attention(query, keys, mask, temperature=1.0))
    torch.testing.assert_close(flat, plain.sqrt() / plain.sqrt().sum())
