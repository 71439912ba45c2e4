"""Self-attention over the last words of the sentence so far, in a state of fixed size."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.base import State
from models.parts.layers import masked_softmax


class WordMemory(nn.Module):
    """Self-attention (one head) of the newest word over the last `length` words of the sentence so far."""

    def __init__(self, *, size: int, width: int, length: int) -> None:
        super().__init__()
        self.length = length
        self.query = nn.Linear(size, width, bias=False)
        self.key = nn.Linear(size, width, bias=False)
        self.value = nn.Linear(size, size, bias=False)

    def first_state(self, like: Tensor) -> State:
        sizes = {"word_keys": self.key.out_features, "word_values": self.value.out_features}
        state = {name: like.new_zeros(len(like), self.length, size) for name, size in sizes.items()}
        return state | {"words_there": like.new_zeros(len(like), self.length, dtype=torch.bool)}

    def forward(self, state: State, word: Tensor) -> tuple[State, Tensor]:
        """The state that knows the word too, and what it recalls of the sentence (B, E)."""
        newest = {"word_keys": self.key(word), "word_values": self.value(word), "words_there": word.new_ones(len(word))}
        state = {name: _push(state[name], new) for name, new in newest.items()}
        scores = torch.einsum("bw,blw->bl", self.query(word), state["word_keys"]) / self.key.out_features**0.5
        weights = masked_softmax(scores, state["words_there"])  # (B, M)
        return state, torch.einsum("bl,ble->be", weights, state["word_values"])


def _push(buffer: Tensor, newest: Tensor) -> Tensor:
    """The oldest leaves: (B, M, ...), (B, ...) -> (B, M, ...)."""
    return torch.cat([buffer[:, 1:], newest.to(buffer.dtype).unsqueeze(1)], 1)
