"""The decoder of the baselines: an LSTM that reads the previous word and a context vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.base import State


class WordLstm(nn.Module):
    """Output of a step = [hidden; context; word] ("deep output"), from which `logits` reads the next word.

    With `output_size` it passes through a layer of that size first, as in Yao et al.: three times cheaper where the
    vocabulary is large.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        word_size: int,
        context_size: int,
        hidden_size: int,
        dropout: float,
        output_size: int = 0,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.start = nn.Linear(context_size, 2 * hidden_size)  # first hidden state and cell
        self.cell = nn.LSTMCell(word_size + context_size, hidden_size)
        output = hidden_size + context_size + word_size
        narrow = (nn.Linear(output, output_size), nn.Tanh()) if output_size else ()
        self.read = nn.Sequential(*narrow, nn.Dropout(dropout), nn.Linear(output_size or output, vocabulary))

    def first_state(self, context: Tensor) -> State:
        hidden, cell = torch.tanh(self.start(context)).chunk(2, dim=1)  # (B, H) each
        return {"hidden": hidden, "cell": cell}

    def step(self, state: State, words: Tensor, context: Tensor) -> tuple[State, Tensor]:
        word = self.embed(words)  # (B, E)
        hidden, cell = self.cell(torch.cat([word, context], 1), (state["hidden"], state["cell"]))
        return state | {"hidden": hidden, "cell": cell}, torch.cat([hidden, context, word], 1)

    def logits(self, output: Tensor) -> Tensor:
        return self.read(output)
