"""Layers that several papers share."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension of the entries where `mask` is True; padding gets exactly zero."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over rows: (B, L, D), (B, L) -> (B, D)."""
    weights = mask.to(values.dtype)
    return torch.einsum("bl,bld->bd", weights, values) / weights.sum(1, keepdim=True).clamp(min=1)


class AdditiveAttention(nn.Module):
    """w' tanh(W q + U x + b), the attention of Bahdanau et al. Keys are projected once per video, not per word."""

    def __init__(self, *, query: int, memory: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, width)
        self.memory = nn.Linear(memory, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        return self.memory(memory)  # (B, ..., L, W)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
        asked = self.query(query).view(len(query), *[1] * (keys.dim() - 2), -1)  # (B, 1, ..., W)
        scores = self.score(torch.tanh(asked + keys)).squeeze(-1)  # (B, ..., L)
        return masked_softmax(scores / temperature, mask)
