"""Layers of a transformer (Vaswani et al. 2017), normalised before each sub-layer, for training and cached search."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SHORTEST, LONGEST = 2.0, 2000.0  # wave lengths of positions


def positions(places: Tensor, size: int) -> Tensor:
    """Sines and cosines of places on an axis, in seconds or words: (...) -> (..., size)."""
    waves = torch.logspace(math.log10(SHORTEST), math.log10(LONGEST), size // 2, device=places.device)
    turns = places.unsqueeze(-1) * (2 * math.pi / waves)  # (..., size / 2)
    return torch.cat([turns.sin(), turns.cos()], -1)


class Attention(nn.Module):
    """Several heads. What is looked at is made into keys and values once (`remember`), however often it is asked."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.remember = nn.Linear(size, 2 * size)
        self.out = nn.Linear(size, size)

    def forward(
        self, asking: Tensor, remembered: Tensor, there: Tensor | None = None, *, causal: bool = False
    ) -> Tensor:
        """(N, T, D) asks (N, S, 2 D), of which `there` (N, S) says what is real."""
        keys, values = self._split(remembered)
        mask = None if there is None else there[:, None, None]  # (N, 1, 1, S)
        seen = F.scaled_dot_product_attention(self._queries(asking), keys, values, mask, is_causal=causal)
        return self.out(seen.transpose(1, 2).flatten(2))

    def weights(self, asking: Tensor, remembered: Tensor, there: Tensor) -> Tensor:
        """(N, S) of one query each (N, 1, D), the mean of the heads: to be recorded."""
        keys, _ = self._split(remembered)
        scores = (self._queries(asking) @ keys.transpose(2, 3)).squeeze(2).float() / math.sqrt(keys.shape[-1])
        return scores.masked_fill(~there[:, None], -torch.inf).softmax(-1).mean(1)

    def _queries(self, asking: Tensor) -> Tensor:
        return self.query(asking).unflatten(2, (self.heads, -1)).transpose(1, 2)  # (N, H, T, d)

    def _split(self, remembered: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = remembered.unflatten(2, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)  # (N, H, S, d) each
        return keys, values


def feed_forward(size: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * size, size)
    )


class EncoderLayer(nn.Module):
    """The rows of a video look at each other."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(size), Attention(size, heads)
        self.expand, self.drop = feed_forward(size, dropout), nn.Dropout(dropout)

    def forward(self, rows: Tensor, there: Tensor) -> Tensor:
        """(B, S, D), of which `there` (B, S) is real."""
        normed = self.norm(rows)
        rows = rows + self.drop(self.attention(normed, self.attention.remember(normed), there))
        return rows + self.drop(self.expand(rows))


class DecoderLayer(nn.Module):
    """Each word looks at the words before it, and then at the video."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.words = nn.LayerNorm(size), Attention(size, heads)
        self.look_norm, self.look = nn.LayerNorm(size), Attention(size, heads)
        self.expand, self.drop = feed_forward(size, dropout), nn.Dropout(dropout)

    def all_words(self, words: Tensor, video: Tensor, there: Tensor) -> Tensor:
        """(N, T, D) at once, none of which sees a later one; `video` (N, S, 2 D)."""
        normed = self.norm(words)
        words = words + self.drop(self.words(normed, self.words.remember(normed), causal=True))
        return self._look(words, video, there)[0]

    def next_word(self, word: Tensor, past: Tensor, video: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(N, 1, D) after words of keys and values `past` (N, T, 2 D). Also `past` with its own; and its query."""
        normed = self.norm(word)
        past = torch.cat([past, self.words.remember(normed)], 1)
        word, asked = self._look(word + self.drop(self.words(normed, past)), video, there)
        return word, past, asked

    def _look(self, words: Tensor, video: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        asking = self.look_norm(words)
        words = words + self.drop(self.look(asking, video, there))
        return words + self.drop(self.expand(words)), asking
