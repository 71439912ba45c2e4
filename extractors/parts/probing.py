"""A pass through a network that tells shapes, computes nothing and leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


@contextmanager
def without_arithmetic(network: nn.Module) -> Iterator[None]:
    """Tensors of this block have shapes and no values. Modules that keep something of a pass, as timm's LeViT keeps its
    attention biases, would go on with that: they are put back as they were."""
    before = [(module, dict(vars(module)), _contents(module)) for module in network.modules()]
    with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
        yield
    for module, attributes, contents in before:
        vars(module).clear()
        vars(module).update(attributes)
        for name, entries in contents.items():
            attributes[name].clear()
            attributes[name].update(entries)


def _contents(module: nn.Module) -> dict[str, dict]:
    return {name: dict(kept) for name, kept in vars(module).items() if isinstance(kept, dict)}
