"""A transformer captioner: every word looks at the words before it and at all rows of all stores."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from models.base import Captioner, Features, Input, Modality, State, Step
from models.parts.layers import as_regions, real_regions
from models.parts.transformer_layers import DecoderLayer, EncoderLayer, positions

NOTHING = "nothing"  # what a word looks at that needs no video


class Transformer(Captioner):
    """Rows of all slots lie in one memory, told apart by their slot and by when in the video they are.

    A learned row that is always there lets a word look at nothing, and serves a video that has no rows at all.
    """

    inputs: ClassVar = {
        "appearance": Input("appearance", "pool", axes=(1, 2, 3)),
        "motion": Input("motion", "pool", optional=True, axes=(1, 2, 3)),
        "regions": Input("regions", "features", optional=True, axes=(1, 2, 3)),
        "sound": Input("sound", "pool", optional=True, axes=(1, 2, 3)),
        "label": Input("label", "label", optional=True),
    }

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 256,
        hidden_size: int = 256,
        heads: int = 4,
        encoder_layers: int = 1,
        decoder_layers: int = 2,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        require_shares(hidden_size, heads)
        given = [name for name in self.inputs if name in sizes]
        self.slots = nn.ModuleDict({name: Slot(sizes[name], hidden_size, dropout) for name in given})
        self.nothing = nn.Parameter(torch.randn(hidden_size))
        self.encoder = nn.ModuleList(EncoderLayer(hidden_size, heads, dropout) for _ in range(encoder_layers))
        self.video_norm = nn.LayerNorm(hidden_size)
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.widen = nn.Linear(word_size, hidden_size)
        self.drop = nn.Dropout(dropout)
        self.decoder = nn.ModuleList(DecoderLayer(hidden_size, heads, dropout) for _ in range(decoder_layers))
        self.read = nn.Sequential(nn.LayerNorm(hidden_size), nn.Dropout(dropout), nn.Linear(hidden_size, vocabulary))

    def encode(self, features: Features) -> State:
        batch = len(next(iter(features.values())).mask)
        there = {f"there {name}": real_parts(features[name]) for name in self.slots}  # (B, L, n) each
        rows = [self.nothing.expand(batch, 1, -1), *(slot(features[name]) for name, slot in self.slots.items())]
        memory, real = torch.cat(rows, 1), self._real(there)
        for layer in self.encoder:
            memory = layer(memory, real)
        memory = self.video_norm(memory)
        video = torch.cat([layer.look.remember(memory) for layer in self._layers], -1)  # (B, S, 2 D of each layer)
        return {"video": video, "past": video[:, :0], **there}

    def step(self, state: State, words: Tensor) -> Step:
        real, past = self._real(state), []
        word = self._embedded(words.unsqueeze(1), first=state["past"].shape[1])  # (N, 1, D)
        for layer, known, video in zip(self._layers, *self._by_layer(state), strict=True):
            word, now, asked = layer.next_word(word, known, video, real)
            past.append(now)
        with torch.no_grad():  # it is recorded, and nothing learns from it
            weights = layer.look.weights(asked, video, real)
        return Step(state | {"past": torch.cat(past, -1)}, word.squeeze(1), self._attention(weights, state))

    def all_steps(self, state: State, words: Tensor) -> Tensor:
        read, real = self._embedded(words), self._real(state)
        for layer, _, video in zip(self._layers, *self._by_layer(state), strict=True):
            read = layer.all_words(read, video, real)
        return read

    def logits(self, output: Tensor) -> Tensor:
        return self.read(output)

    def columns(self) -> dict[str, list[str]]:
        return {"slot": [NOTHING, *self.slots]}

    @property
    def _layers(self) -> list[DecoderLayer]:
        return list(self.decoder)  # type: ignore[arg-type]

    def _by_layer(self, state: State) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Keys and values of the words so far, and of the video."""
        return state["past"].chunk(len(self.decoder), -1), state["video"].chunk(len(self.decoder), -1)

    def _embedded(self, words: Tensor, *, first: int = 0) -> Tensor:
        """(N, T) words, of which the first has this number -> (N, T, D)."""
        embedded = self.widen(self.embed(words))
        places = torch.arange(first, first + words.shape[1], device=words.device).float()
        return self.drop(embedded + positions(places, embedded.shape[-1]))

    def _real(self, state: State) -> Tensor:
        """(B, S) which rows of the memory are there."""
        parts = [state[f"there {name}"].flatten(1) for name in self.slots]
        return torch.cat([parts[0].new_ones(len(parts[0]), 1), *parts], 1)

    def _attention(self, weights: Tensor, state: State) -> dict[str, Tensor]:
        """Weights (N, S) as shares of the slots, and of the rows of the frames."""
        there = [state[f"there {name}"] for name in self.slots]
        shares = weights.split([1, *(each[0].numel() for each in there)], 1)
        frames = shares[1].unflatten(1, there[0].shape[1:]).sum(2)  # (N, L): appearance comes first
        time = frames / frames.sum(1, keepdim=True).clamp(min=torch.finfo(frames.dtype).tiny)
        return {"time": time, "slot": torch.stack([each.sum(1) for each in shares], 1)}


class Slot(nn.Module):
    """The rows of one store, (B, L, C) or with n parts each, on the common axis of time: (B, L * n, D)."""

    def __init__(self, channels: int, size: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(channels, size), nn.LayerNorm(size))  # its bias is the slot's own vector
        self.drop = nn.Dropout(dropout)

    def forward(self, rows: Modality) -> Tensor:
        parts = self.project(in_parts(rows).values)  # (B, L, n, D)
        return self.drop(parts + positions(rows.when(), parts.shape[-1]).unsqueeze(2)).flatten(1, 2)


def in_parts(rows: Modality) -> Modality:
    """A row that is one vector has one part."""
    return as_regions(rows) if rows.values.dim() > 3 else Modality(rows.values.unsqueeze(2), rows.mask)


def real_parts(rows: Modality) -> Tensor:
    """(B, L, n): a vector of zeros is a vector, a region of zeros is none."""
    return real_regions(as_regions(rows)) if rows.values.dim() > 3 else rows.mask.unsqueeze(2)


def require_shares(size: int, heads: int) -> None:
    if heads < 1 or size % (2 * heads):
        raise ValueError(f"hidden_size is {size} and heads is {heads}; each head has an equal, even share of it")


build = Transformer
