"""Soft temporal attention (Yao et al., "Describing videos by exploiting temporal structure", 2015)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from models.base import Captioner, Features, Input, State, Step
from models.parts.layers import AdditiveAttention, lengths, masked_mean
from models.parts.word_lstm import WordLstm

SENSES = ("motion", "sound")


class SoftAttention(Captioner):
    """Every word attends to the frames it needs.

    `order` lets a bidirectional GRU read the frames first, so that a frame's memory knows what came before and
    after it; without it the frames are a set, as in the paper, and "left to right" equals "right to left".
    Motion and sound, where a run has them, are known to every word as the mean over the video.
    """

    inputs: ClassVar = {
        "appearance": Input("appearance", "pool"),
        "motion": Input("motion", "pool", optional=True),
        "sound": Input("sound", "pool", optional=True),
    }

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 128,
        hidden_size: int = 256,
        attention_size: int = 128,
        output_size: int = 0,
        dropout: float = 0.5,
        order: bool = True,
    ) -> None:
        super().__init__()
        if order and hidden_size % 2:
            raise ValueError(f"hidden_size is {hidden_size}; the two directions of order share it: an even number")
        self.project = nn.Sequential(nn.Linear(sizes["appearance"], hidden_size), nn.ReLU(), nn.Dropout(dropout))
        self.reader = nn.GRU(hidden_size, hidden_size // 2, batch_first=True, bidirectional=True) if order else None
        self.senses = tuple(name for name in SENSES if name in sizes)
        self.sense = nn.ModuleDict({name: nn.Linear(sizes[name], hidden_size) for name in self.senses})
        self.attention = AdditiveAttention(query=hidden_size, memory=hidden_size, width=attention_size)
        self.decoder = WordLstm(
            vocabulary=vocabulary,
            word_size=word_size,
            context_size=hidden_size,
            hidden_size=hidden_size,
            dropout=dropout,
            output_size=output_size,
        )

    def encode(self, features: Features) -> State:
        frames, mask = features["appearance"]
        memory = self.project(frames)  # (B, L, H)
        if self.reader is not None:
            memory = memory + read_in_order(self.reader, memory, mask)
        beside = sum((self.sense[name](masked_mean(*features[name])) for name in self.senses), frames.new_zeros(1))
        beside = beside.expand(len(frames), self.attention.query.in_features)  # (B, H)
        first = self.decoder.first_state(masked_mean(memory, mask) + beside)
        return first | {"memory": memory, "keys": self.attention.keys(memory), "mask": mask, "beside": beside}

    def step(self, state: State, words: Tensor) -> Step:
        weights = self.attention(state["hidden"], state["keys"], state["mask"])  # (B, L)
        context = torch.einsum("bl,blh->bh", weights, state["memory"]) + state["beside"]
        state, output = self.decoder.step(state, words, context)
        return Step(state, output, attention={"time": weights})

    def logits(self, output: Tensor) -> Tensor:
        return self.decoder.logits(output)


def read_in_order(reader: nn.GRU, memory: Tensor, mask: Tensor) -> Tensor:
    """Packed, so that padding never reaches the backward direction."""
    packed = nn.utils.rnn.pack_padded_sequence(memory, lengths(mask).cpu(), batch_first=True, enforce_sorted=False)
    read, _ = reader(packed)
    return nn.utils.rnn.pad_packed_sequence(read, batch_first=True, total_length=memory.shape[1])[0]  # (B, L, H)


build = SoftAttention
