"""State dictionaries by their publishers' names, written down without our networks: each tensor has its own value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

Named = tuple[str, tuple[int, ...]]


def numbered(shapes: Iterable[Named]) -> dict[str, Tensor]:
    """The n-th tensor is n everywhere, and takes no memory."""
    return {name: torch.tensor(float(number)).expand(shape) for number, (name, shape) in enumerate(shapes)}


def norm(name: str, channels: int) -> Iterator[Named]:
    for part in ("weight", "bias", "running_mean", "running_var"):
        yield f"{name}.{part}", (channels,)


def strictly_loaded(network: nn.Module, state: dict[str, Tensor]) -> dict[str, float]:
    """The value of every tensor after a strict load into a network without memory (`meta`)."""
    network.load_state_dict(state, assign=True)
    return {name: tensor.flatten()[0].item() for name, tensor in network.state_dict().items() if tensor.ndim}
