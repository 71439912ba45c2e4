"""The baseline of every paper: the mean of the frame features is all that the decoder sees."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from models.base import Captioner, Features, Input, State, Step
from models.parts.layers import masked_mean
from models.parts.word_lstm import WordLstm


class MeanPool(Captioner):
    """One context vector for every word: order and place in time are lost."""

    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 128,
        hidden_size: int = 256,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(sizes["appearance"], hidden_size), nn.ReLU(), nn.Dropout(dropout))
        self.decoder = WordLstm(
            vocabulary=vocabulary,
            word_size=word_size,
            context_size=hidden_size,
            hidden_size=hidden_size,
            dropout=dropout,
        )

    def encode(self, features: Features) -> State:
        frames, mask = features["appearance"]
        mean = masked_mean(self.project(frames), mask)  # (B, H)
        return self.decoder.first_state(mean) | {"mean": mean}

    def step(self, state: State, words: Tensor) -> Step:
        state, output = self.decoder.step(state, words, state["mean"])
        return Step(state, output, attention={})

    def logits(self, output: Tensor) -> Tensor:
        return self.decoder.logits(output)


build = MeanPool
