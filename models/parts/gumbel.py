"""Choosing K rows in turn by their weights, in a way that learns (Global2Local, Eqs. 5 and 6).

The paper scales the weights by lambda = 10 first; log(10 w) = log 10 + log w, and softmax does not see a constant.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.parts.layers import masked_softmax

FLOOR = 1e-20  # weights are at least this before the logarithm; a row that was chosen has w - 1 < 0 and falls to it
CHOSEN = 0.5  # above this a row is out: where others lie on the floor too, it could come again; two that tie share


def gumbel_top_k(
    weights: Tensor,
    mask: Tensor,
    *,
    count: int,
    temperature: float,
    noise: bool,
    backward_temperature: float | None = None,
) -> Tensor:
    """`count` almost one-hot choices (B, K, M) of M rows; without `noise` the K largest weights, in order.

    At a temperature of 1e-4 nearly every gradient is exactly zero in float32. With a `backward_temperature` the choice
    is one-hot and its gradient that of a softmax at that temperature (straight through).
    """
    weights = weights.float()  # logits reach 4.6e5: too much for half precision
    taken = torch.zeros_like(weights)
    choices = []
    for turn in range(count):
        logits = (weights - taken).clamp(min=FLOOR).log()  # (B, M)
        if noise:
            logits = logits + gumbel_like(logits)
        choice = _choose(logits, mask & (taken <= CHOSEN), temperature, backward_temperature)
        choice = choice * (mask.sum(1, keepdim=True) > turn)  # a video of fewer rows gives fewer
        taken = taken + choice
        choices.append(choice)
    return torch.stack(choices, 1)


def top_k(weights: Tensor, mask: Tensor, *, count: int) -> Tensor:
    """The K largest as one-hot rows (B, K, M), through which nothing is learnt."""
    return gumbel_top_k(weights.detach(), mask, count=count, temperature=1.0, noise=False, backward_temperature=1.0)


def gumbel_like(values: Tensor) -> Tensor:
    uniform = torch.rand_like(values).clamp(min=FLOOR, max=1 - 2**-24)  # log 1 = 0 would give infinity
    return -torch.log(-torch.log(uniform))


def _choose(logits: Tensor, mask: Tensor, temperature: float, backward_temperature: float | None) -> Tensor:
    if backward_temperature is None:
        return masked_softmax(logits / temperature, mask)
    soft = masked_softmax(logits / backward_temperature, mask)
    best = logits.masked_fill(~mask, -torch.inf).argmax(1, keepdim=True)
    hard = torch.zeros_like(soft).scatter(1, best, 1.0)
    return hard + (soft - soft.detach())  # the bracket is exactly zero
