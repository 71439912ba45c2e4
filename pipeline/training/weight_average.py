"""An exponential moving average of the weights: what is validated and published instead of the last update's weights.

It lies in the optimizer's state, so that it is kept and resumed with it, and a stage begins its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.optim import Optimizer

AVERAGE = "average"


@torch.no_grad()
def update_average(optimizer: Optimizer, decay: float, *, updates: int) -> None:
    """After each update, of which there were so many before; the first ones do not weigh for long."""
    decay = min(decay, (1 + updates) / (10 + updates))
    for weights in (each for each in _weights(optimizer) if each.grad is not None):
        state = optimizer.state[weights]
        if AVERAGE in state:
            state[AVERAGE].lerp_(weights, 1 - decay)
        else:
            state[AVERAGE] = weights.detach().clone()


@contextmanager
def averaged_weights(optimizer: Optimizer) -> Iterator[None]:
    """Within this block the model has the averages, if there are any."""
    averaged = [weights for weights in _weights(optimizer) if AVERAGE in optimizer.state.get(weights, {})]
    own = [weights.detach().clone() for weights in averaged]
    _put(averaged, [optimizer.state[weights][AVERAGE] for weights in averaged])
    try:
        yield
    finally:
        _put(averaged, own)


def _weights(optimizer: Optimizer) -> list[Tensor]:
    return [weights for group in optimizer.param_groups for weights in group["params"]]


@torch.no_grad()
def _put(weights: list[Tensor], values: list[Tensor]) -> None:
    """In place: other processes may see the same memory."""
    for each, value in zip(weights, values, strict=True):
        each.copy_(value)
