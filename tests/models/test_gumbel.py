"""Gumbel noise at the ends of its range, and choices that tie."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.parts.gumbel import gumbel_like, gumbel_top_k


@pytest.mark.parametrize(
    ("drawn", "noise"),
    [
        (0.0, -math.log(-math.log(1e-20))),  # the floor
        (0.5, -math.log(-math.log(0.5))),
        (1 - 2**-24, -math.log(-math.log1p(-(2**-24)))),  # the largest that torch draws in float32
        (1.0, -math.log(-math.log1p(-(2**-24)))),  # which only a device that rounds up would draw
    ],
)
def test_noise_is_finite_wherever_the_draw_falls(monkeypatch: pytest.MonkeyPatch, drawn: float, noise: float) -> None:
    def draw(values: Tensor) -> Tensor:
        return torch.full_like(values, drawn)

    monkeypatch.setattr(torch, "rand_like", draw)

    torch.testing.assert_close(gumbel_like(torch.zeros(3)), torch.full((3,), noise))


def test_noise_has_the_distribution_of_gumbel() -> None:
    """Its mean is Euler's constant, its variance a sixth of pi squared."""
    torch.manual_seed(0)
    noise = gumbel_like(torch.zeros(1_000_000))

    assert float(noise.mean()) == pytest.approx(0.5772, abs=0.005)
    assert float(noise.var()) == pytest.approx(math.pi**2 / 6, abs=0.02)


def test_two_that_tie_share_both_choices() -> None:
    weights = torch.tensor([[0.5, 0.5, 0.0]])
    mask = torch.ones(1, 3, dtype=torch.bool)

    chosen = gumbel_top_k(weights, mask, count=2, temperature=1e-4, noise=False)

    torch.testing.assert_close(chosen.sum(2), torch.ones(1, 2))
    torch.testing.assert_close(chosen[0, 0], torch.tensor([0.5, 0.5, 0.0]))


def test_what_was_partly_chosen_weighs_that_much_less() -> None:
    """At temperature 1/2 choices go by squares; the first row is out then, of the others a part is left."""
    weights = torch.tensor([[0.6, 0.3, 0.1]])

    first, second = gumbel_top_k(weights, torch.ones(1, 3, dtype=torch.bool), count=2, temperature=0.5, noise=False)[0]

    torch.testing.assert_close(first, torch.tensor([0.36, 0.09, 0.01]) / 0.46)
    left = [0.3 - 0.09 / 0.46, 0.1 - 0.01 / 0.46]
    squares = torch.tensor([0.0, left[0] ** 2, left[1] ** 2])
    torch.testing.assert_close(second, squares / squares.sum())


@pytest.mark.parametrize("backward", [None, 0.5])
def test_the_temperature_divides_the_logarithms(backward: float | None) -> None:
    """At temperature 1/2 the first choice is by the squares of the weights, in value or, straight through, in slope."""
    weights = torch.tensor([[0.2, 0.3, 0.5]], requires_grad=True)
    mask = torch.ones(1, 3, dtype=torch.bool)
    chosen = gumbel_top_k(weights, mask, count=1, temperature=0.5, noise=False, backward_temperature=backward)[0, 0]
    squares = weights[0].square() / weights[0].square().sum()

    torch.testing.assert_close(chosen, squares if backward is None else torch.tensor([0.0, 0.0, 1.0]))
    slopes = [torch.autograd.grad(each, weights, retain_graph=True)[0] for each in (chosen[1], squares[1])]
    torch.testing.assert_close(slopes[0], slopes[1])
