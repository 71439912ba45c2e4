"""The ways in which STaTS attends to a modality: places first, or a frame first, or all at once.

Equation numbers are those of Cherian et al. (2020); docs/models.md says where they leave a choice and what we do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.base import State
from models.parts.layers import AdditiveAttention, last_real, masked_mean

POOLS = ("mean", "lstm", "ranked", "attention", "mean+lstm", "mean+ranked", "mean+attention")

LITTLE = 1e-6  # weight that a region needs to be seen in full; less is no divisor


@dataclass(frozen=True)
class Places:
    """A modality as vectors at n places of T frames: cells of a grid, regions that differ by frame, or one a frame."""

    values: Tensor  # (B, T, n, D)
    frames: Tensor  # (B, T) bool: real ones
    regions: Tensor | None  # (B, T, n) bool: a frame may have fewer than others; None for a grid

    @property
    def kind(self) -> str:
        return "place" if self.regions is None else "region"

    @property
    def there(self) -> Tensor:
        return self.values.new_ones(self.values.shape[:3], dtype=torch.bool) if self.regions is None else self.regions

    @property
    def shown(self) -> Tensor:
        """(B, T): frames with anything in them."""
        return self.frames if self.regions is None else self.frames & self.regions.any(-1)

    def means(self) -> Tensor:
        """The frames' mean vectors (B, T, D)."""
        shares = self.there / self.there.sum(-1, keepdim=True).clamp(min=1)
        return torch.einsum("btn,btnd->btd", shares, self.values)

    def within(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """The mean at each place over weighed frames (B, T) that have it, (B, n, D), and their weight, (B, n)."""
        if self.regions is None:
            mixed = (frames.unsqueeze(1) @ self.values.flatten(2)).squeeze(1).unflatten(1, self.values.shape[2:])
            return mixed, frames.new_ones(mixed.shape[:2])
        weights = frames.unsqueeze(-1) * self.regions  # (B, T, n): one that is not there is only a bias
        total = weights.sum(1)
        shares = weights / total.unsqueeze(1).clamp(min=LITTLE)
        return torch.einsum("btn,btnd->bnd", shares, self.values), total


@dataclass(frozen=True)
class Seen:
    """What one branch saw for one word, and how badly its output ranks the frames."""

    vector: Tensor  # (B, D)
    attention: Mapping[str, Tensor] = field(default_factory=dict)
    rank: Tensor | None = None  # (B,)


class View(nn.Module, ABC):
    """One way to look at a modality."""

    @abstractmethod
    def encode(self, places: Places) -> State:
        """What can be computed before the first word."""

    @abstractmethod
    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        """What is seen for one word."""


class SpatioTemporal(View):
    """Places first (Eq. 3), then the evolution of what is there (Eqs. 6-8)."""

    def __init__(self, *, query: int, width: int, attention_size: int, pool: str, margin: float) -> None:
        super().__init__()
        self.margin = margin
        self.mean, self.ranked = "mean" in pool, "ranked" in pool
        self.place = AdditiveAttention(query=query, memory=width, width=attention_size)
        self.reader = nn.LSTM(width, width, batch_first=True) if pool != "mean" else None

    def encode(self, places: Places) -> State:
        if places.values.shape[2] == 1:  # no choice of place, so that no word changes what is seen
            seen = self._evolution(places.values.squeeze(2), places.frames)
            return {"vector": seen.vector} | ({} if seen.rank is None else {"rank": seen.rank})
        if places.regions is not None:
            return {"keys": self.place.keys(places.values)}  # (B, T, n, W)
        over_time = masked_mean(places.values.flatten(2), places.frames).unflatten(1, places.values.shape[2:])
        return {"keys": self.place.keys(over_time).unsqueeze(1)}  # (B, 1, n, W): temporally shared

    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        if "vector" in state:
            return Seen(state["vector"], rank=state.get("rank"))
        there = places.there[:, : state["keys"].shape[1]]
        weights = self.place(query, state["keys"], there)  # (B, 1 or T, n)
        attended = (weights.unsqueeze(2) @ places.values).squeeze(2)  # (B, T, D)
        seen = self._evolution(attended, places.frames)
        return Seen(seen.vector, {places.kind: weights.squeeze(1)}, seen.rank)

    def _evolution(self, attended: Tensor, frames: Tensor) -> Seen:
        mean = masked_mean(attended, frames)
        if self.reader is None:
            return Seen(mean)
        read = last_real(self.reader(attended)[0], frames)  # (B, D) Eq. 8
        rank = None
        if self.ranked:
            rank = ranking_loss(read, attended, frames, margin=self.margin) / frames.sum(1).clamp(min=1)
        return Seen((mean + read) / 2 if self.mean else read, rank=rank)


def ranking_loss(direction: Tensor, frames: Tensor, mask: Tensor, *, margin: float) -> Tensor:
    """Eqs. 6-7, (B,): each frame should lie further along the direction than the one before it."""
    along = torch.einsum("bd,btd->bt", direction, frames)
    losses = F.softplus(along[:, :-1] + margin - along[:, 1:])
    return (losses * (mask[:, :-1] & mask[:, 1:])).sum(1)


class FlatAttention(View):
    """Table 2's rows without ST: attention over all places of all frames at once, or over the frames' means."""

    def __init__(self, *, query: int, width: int, attention_size: int, means: bool) -> None:
        super().__init__()
        self.means = means
        self.attention = AdditiveAttention(query=query, memory=width, width=attention_size)

    def encode(self, places: Places) -> State:
        memory = places.means() if self.means else places.values.flatten(1, 2)  # (B, T or T * n, D)
        real = places.frames if self.means else (places.there & places.frames.unsqueeze(-1)).flatten(1)
        return {"memory": memory, "real": real, "keys": self.attention.keys(memory)}

    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        weights = self.attention(query, state["keys"], state["real"])
        by_frame = weights.view(*places.frames.shape, -1).sum(-1)  # (B, T)
        return Seen(torch.einsum("bl,bld->bd", weights, state["memory"]), {"time": by_frame})


class TemporoSpatial(View):
    """A frame first (Eq. 9, by a softmax of low temperature), then places in it (Eqs. 10-11)."""

    def __init__(self, *, query: int, width: int, attention_size: int, temperature: float, one_frame: bool) -> None:
        super().__init__()
        self.temperature = temperature
        self.one_frame = one_frame
        self.frame = AdditiveAttention(query=query, memory=width, width=attention_size)
        self.place = AdditiveAttention(query=query, memory=width, width=attention_size)

    def encode(self, places: Places) -> State:
        return {"keys": self.frame.keys(places.means())}  # (B, T, W)

    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        frames = self.frame(query, state["keys"], places.shown, temperature=self.temperature)  # (B, T)
        if self.one_frame and not self.training:
            frames = F.one_hot(frames.argmax(1), frames.shape[1]).to(frames.dtype)
        selected, weight = places.within(frames)  # (B, n, D), (B, n)
        if selected.shape[1] == 1:
            return Seen(selected.squeeze(1), {"time": frames})
        weights = self.place(query, self.place.keys(selected), weight > 0)  # (B, n)
        if places.regions is not None:
            weights = _shared_out(weights * weight)  # a region counts as much as the frames that have it
        return Seen(torch.einsum("bn,bnd->bd", weights, selected), {"time": frames, places.kind: weights})


def _shared_out(weights: Tensor) -> Tensor:
    """So that they sum to one, or to nothing where there is nothing."""
    return weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)


def make_spatio_temporal(*, query: int, width: int, attention_size: int, pool: str, margin: float) -> View:
    if "attention" in pool:
        return FlatAttention(query=query, width=width, attention_size=attention_size, means="mean" in pool)
    return SpatioTemporal(query=query, width=width, attention_size=attention_size, pool=pool, margin=margin)
