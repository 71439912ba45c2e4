"""The captioner of VATEX 2019 (RUC), whatever its memory is made of: two LSTMs, the lower one decides where to look.

Equation numbers are the paper's; sizes are those of the authors' later code. `attend: false` is the paper's "vanilla":
the same decoder with the global vector only.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from models.base import Captioner, Features, Modality, State, Step
from models.parts.layers import AdditiveAttention, masked_mean

GLOBAL = ("appearance", "motion", "sound")  # what the global vector is made of, as far as the run has it


class TopDown(Captioner):
    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 512,
        hidden_size: int = 512,
        video_size: int = 512,
        attention_size: int = 512,
        dropout: float = 0.5,
        attend: bool = True,
    ) -> None:
        super().__init__()
        self.global_inputs = [name for name in GLOBAL if name in sizes]
        self.summary = nn.Sequential(
            nn.Linear(sum(sizes[name] for name in self.global_inputs), video_size), nn.Dropout(dropout)
        )
        self.attention: AdditiveAttention | None = None
        if attend:
            self.fuse = nn.Sequential(nn.Linear(self.memory_size(sizes), video_size), nn.Dropout(dropout))
            self.attention = AdditiveAttention(query=hidden_size, memory=video_size, width=attention_size)
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.lower = nn.LSTMCell(hidden_size + video_size + word_size, hidden_size)
        self.upper = nn.LSTMCell(hidden_size + video_size * attend, hidden_size)
        for cell in (self.lower, self.upper):
            _remember_at_first(cell)
        self.read = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden_size, vocabulary))

    @abstractmethod
    def memory_size(self, sizes: dict[str, int]) -> int:
        """Channels of the memory."""

    @abstractmethod
    def memory(self, features: Features) -> Modality:
        """What the decoder may look at (B, L, memory)."""

    @abstractmethod
    def attended(self, weights: Tensor) -> dict[str, Tensor]:
        """The weights (B, L) by their common names."""

    def encode(self, features: Features) -> State:
        means = [masked_mean(*features[name]) for name in self.global_inputs]
        video = self.summary(torch.cat(means, 1))  # (B, D)
        rest = video.new_zeros(len(video), self.lower.hidden_size)
        state = {"video": video} | dict.fromkeys(("lower", "lower cell", "upper", "upper cell"), rest)
        if self.attention is None:
            return state
        values, mask = self.memory(features)
        fused = self.fuse(values)  # (B, L, D)
        return state | {"memory": fused, "keys": self.attention.keys(fused), "mask": mask}

    def step(self, state: State, words: Tensor) -> Step:
        given = torch.cat([state["upper"], state["video"], self.embed(words)], 1)
        lower, lower_cell = self.lower(given, (state["lower"], state["lower cell"]))  # Eq. 1
        looked, attention = [lower], {}
        if self.attention is not None:
            weights = self.attention(lower, state["keys"], state["mask"])  # (B, L): Eq. 2
            looked.append(torch.einsum("bl,bld->bd", weights, state["memory"]))  # Eq. 3
            attention = self.attended(weights)
        upper, upper_cell = self.upper(torch.cat(looked, 1), (state["upper"], state["upper cell"]))  # Eq. 4
        moved = {"lower": lower, "lower cell": lower_cell, "upper": upper, "upper cell": upper_cell}
        return Step(state | moved, upper, attention)

    def logits(self, output: Tensor) -> Tensor:
        return self.read(output)  # Eq. 5


def _remember_at_first(cell: nn.LSTMCell) -> None:
    """Forget gates begin with a bias of one in all."""
    forget = slice(cell.hidden_size, 2 * cell.hidden_size)
    cell.bias_ih.data[forget], cell.bias_hh.data[forget] = 1.0, 0.0
