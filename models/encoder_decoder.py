"""One LSTM reads the frames, another predicts the words (Cho et al. 2014): dualAFR's baseline ResNet + LSTM."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from models.base import Captioner, Features, Input, State, Step
from models.parts.layers import last_real
from models.parts.word_lstm import WordLstm


class EncoderDecoder(Captioner):
    """What the reader knows after the last frame is the decoder's first state and a part of its every input."""

    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 300,
        hidden_size: int = 512,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.reader = nn.LSTM(sizes["appearance"], hidden_size, batch_first=True)
        self.decoder = WordLstm(
            vocabulary=vocabulary,
            word_size=word_size,
            context_size=hidden_size,
            hidden_size=hidden_size,
            dropout=dropout,
        )

    def encode(self, features: Features) -> State:
        frames, mask = features["appearance"]
        summary = last_real(self.reader(frames)[0], mask)  # (B, H)
        return self.decoder.first_state(summary) | {"summary": summary}

    def step(self, state: State, words: Tensor) -> Step:
        state, output = self.decoder.step(state, words, state["summary"])
        return Step(state, output, attention={})

    def logits(self, output: Tensor) -> Tensor:
        return self.decoder.logits(output)


build = EncoderDecoder
