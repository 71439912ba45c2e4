"""Masked attention: the largest weights stay, the rest share nothing."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st

from models.base import Modality
from models.parts.masking import attention_modules, mask_weights, masked
from models.soft_attention import SoftAttention

BOS = 1


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.0, [0.1, 0.4, 0.2, 0.3, 0.0]),
        (0.25, [0.0, 4 / 9, 2 / 9, 3 / 9, 0.0]),
        (0.5, [0.0, 4 / 7, 0.0, 3 / 7, 0.0]),
        (0.75, [0.0, 1.0, 0.0, 0.0, 0.0]),
        (1.0, [0.0] * 5),
    ],
)
def test_the_smallest_of_the_real_weights_go_first(ratio: float, expected: list[float]) -> None:
    weights = torch.tensor([0.1, 0.4, 0.2, 0.3, 0.0])  # the last is padding

    torch.testing.assert_close(mask_weights(weights, ratio), torch.tensor(expected))


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 1000))
def test_what_is_left_sums_to_one_or_to_nothing(length: int, ratio: float, seed: int) -> None:
    weights = torch.rand(3, length, generator=torch.Generator().manual_seed(seed)).softmax(-1)

    kept = mask_weights(weights, ratio)

    left = length - int(torch.tensor(length * ratio).round())
    torch.testing.assert_close(kept.sum(-1), torch.full((3,), float(left > 0)))
    assert (kept > 0).sum(-1).tolist() == [left] * 3


def test_a_mask_is_on_within_its_block_only() -> None:
    torch.manual_seed(0)
    model = SoftAttention(vocabulary=9, sizes={"appearance": 4}, hidden_size=8, word_size=4, attention_size=4).eval()
    frames = {"appearance": Modality(torch.randn(2, 6, 4), torch.ones(2, 6, dtype=torch.bool))}

    def looked() -> torch.Tensor:
        return model.step(model.encode(frames), torch.tensor([BOS, BOS])).attention["time"]

    before = looked()
    with masked(model, attention_modules(model), ratio=0.5):
        within = looked()

    assert attention_modules(model) == ["attention"]
    assert (within > 0).sum(1).tolist() == [3, 3]
    torch.testing.assert_close(looked(), before)
