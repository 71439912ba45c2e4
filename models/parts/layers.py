"""Layers that several papers share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.base import Modality


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension of the entries where `mask` is True; padding gets exactly zero."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over rows: (B, L, D), (B, L) -> (B, D)."""
    weights = mask.to(values.dtype)
    return torch.einsum("bl,bld->bd", weights, values) / weights.sum(1, keepdim=True).clamp(min=1)


def lengths(mask: Tensor) -> Tensor:
    """Rows up to the last real one, (B, L) -> (B,): sound may set in late. A video without any has one of padding."""
    return (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).amax(1).clamp(min=1)


def last_real(values: Tensor, mask: Tensor) -> Tensor:
    """The last real row of each video: (B, L, D), (B, L) -> (B, D)."""
    rows = torch.arange(len(mask), device=mask.device)
    return values[rows, lengths(mask) - 1]


def side_by_side(parts: Sequence[Modality]) -> Modality:
    """Rows of several inputs that stand for the same time, matched by index: a row is real where all of them are."""
    length = min(part.values.shape[1] for part in parts)
    values = torch.cat([part.values[:, :length] for part in parts], -1)  # (B, L, sum of D)
    return Modality(values, torch.stack([part.mask[:, :length] for part in parts]).all(0))


def as_regions(rows: Modality) -> Modality:
    """Rows of N regions, (B, M, N, C); where they are maps, (B, M, h, w, C), their cells are the regions."""
    return Modality(rows.values.flatten(2, -2), rows.mask)


def real_regions(rows: Modality) -> Tensor:
    """Which of N regions are there, (B, M, N): extractors fill up with zeros a frame that has fewer."""
    return rows.mask.unsqueeze(-1) & rows.values.ne(0).any(-1)


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
        asked = _spread(self.query(query), keys)  # (B, 1, ..., W)
        scores = self.score((asked + keys).tanh_()).squeeze(-1)  # (B, ..., L)
        return masked_softmax(scores / temperature, mask)


class BilinearAttention(nn.Module):
    """w' tanh((W q) * (U x) + b): the query gates the memory instead of being added to it."""

    def __init__(self, *, query: int, memory: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, width, bias=False)
        self.memory = nn.Linear(memory, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.score = nn.Linear(width, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        return self.memory(memory)  # (B, ..., L, W)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        gate = _spread(self.query(query), keys)  # (B, 1, ..., W)
        scores = self.score(torch.tanh(gate * keys + self.bias)).squeeze(-1)  # (B, ..., L)
        return masked_softmax(scores, mask)


class ProductAttention(nn.Module):
    """w' tanh(W q * U x) (VRE, Eqs. 8 and 14); their biases shift all scores alike, so that softmax drops them."""

    def __init__(self, *, query: int, memory: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, width, bias=False)
        self.memory = nn.Linear(memory, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        return self.memory(memory)  # (B, L, W)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(self.score(torch.tanh(self.query(query).unsqueeze(1) * keys)).squeeze(-1), mask)


def _spread(query: Tensor, keys: Tensor) -> Tensor:
    """(B, W) so that it meets every one of (B, ..., L, W)."""
    return query.view(len(query), *[1] * (keys.dim() - 2), -1)
