"""The best of many scores, as `topk` finds them."""

from __future__ import annotations

import torch
from hypothesis import given, settings, strategies as st

from pipeline.captioner.best_words import BLOCK, best_of


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(6, 40 * BLOCK),
    count=st.integers(1, 6),
    banned=st.floats(0, 1),
    seed=st.integers(0, 1000),
    equal=st.booleans(),
)
def test_it_is_what_topk_finds(width: int, count: int, banned: float, seed: int, equal: bool) -> None:
    """Many of them impossible, or equal to others."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, width, generator=generator)
    scores = scores.round(decimals=1) if equal else scores
    scores[torch.rand(3, width, generator=generator) < banned] = -torch.inf

    values, places = best_of(scores, count)

    assert torch.equal(values, scores.topk(count).values)
    assert torch.equal(scores.gather(1, places), values)
    assert all(len({*row}) == count for row in places.tolist())
