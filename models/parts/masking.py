"""What attention is worth beyond its largest weights (Global2Local, figure 6).

While a mask is on, every attention module keeps its largest weights only and shares them out again; nothing is
trained anew. All of a module's weights masked means that it sees nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from models.parts.layers import AdditiveAttention, BilinearAttention, ProductAttention

MODULES = (AdditiveAttention, BilinearAttention, ProductAttention)


def attention_modules(model: nn.Module) -> list[str]:
    """Names of the modules that can be masked, in the order of the model."""
    return [name for name, module in model.named_modules() if isinstance(module, MODULES)]


@contextmanager
def masked(model: nn.Module, names: Sequence[str], *, ratio: float) -> Iterator[None]:
    """Within this block the smallest `ratio` of the weights of these modules are zero."""
    hooks = [
        model.get_submodule(name).register_forward_hook(lambda _module, _given, weights: mask_weights(weights, ratio))
        for name in names
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def mask_weights(weights: Tensor, ratio: float) -> Tensor:
    """Of the n weights (..., L) that are not zero the round(ratio * n) smallest become zero; the rest sum to one."""
    real = weights > 0
    removed = (real.sum(-1, keepdim=True) * ratio).round()
    rank = weights.masked_fill(~real, torch.inf).argsort(-1).argsort(-1)  # 0 is the smallest that is there
    kept = weights * (rank >= removed) * real
    return kept / kept.sum(-1, keepdim=True).clamp(min=torch.finfo(kept.dtype).tiny)
