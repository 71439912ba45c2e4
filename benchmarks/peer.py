"""A public LSTM captioner of MSVD (hobincar/SA-LSTM) in plain PyTorch: beside ours in train.py and experiments/folds.

Its equations and sizes, written anew: additive attention over the frames, and one LSTM that reads the word and the
attended frames themselves. `published` repeats its loop, which maps the frames again for every word and takes every
caption to the longest length there may be; `tidy` is the same arithmetic without that waste. `PeerCaptioner` is the
same model under this project's contract: beside `tidy` it shows what the contract costs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.base import Captioner, Features, Input, State, Step

LONGEST = 31  # words and the end of a sentence
PAD, BOS = 0, 1


class Peer(nn.Module):
    def __init__(self, *, vocabulary: int, channels: int, word: int = 468, hidden: int = 512, width: int = 256) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, word)
        self.query, self.key = nn.Linear(hidden, width, bias=False), nn.Linear(channels, width)
        self.score = nn.Linear(width, 1, bias=False)
        self.cell = nn.LSTMCell(word + channels, hidden)
        self.read = nn.Sequential(nn.Dropout(0.5), nn.Linear(hidden, vocabulary))

    def step(self, words: Tensor, state: tuple[Tensor, Tensor], frames: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.score(torch.tanh(self.query(state[0]).unsqueeze(1) + keys)).squeeze(-1)  # (N, L)
        seen = torch.einsum("nl,nlc->nc", scores.softmax(1), frames)  # (N, C)
        return self.cell(torch.cat([self.embed(words), seen], 1), state)

    def published(self, frames: Tensor, words: Tensor) -> Tensor:
        """Mean loss of a word; frames (N, L, C), words (N, T) with the end of the sentence and padding."""
        targets = F.pad(words, (0, LONGEST - words.shape[1]), value=PAD)
        previous, state = _shifted(targets), self._start(len(words))
        losses = []
        for position in range(LONGEST):
            state = self.step(previous[:, position], state, frames, self.key(frames))
            losses.append(self._lost(state[0], targets[:, position]))
        return torch.stack(losses).sum() / (targets != PAD).sum()

    def tidy(self, frames: Tensor, words: Tensor) -> Tensor:
        """The same number."""
        lengths, order = (words != PAD).sum(1).sort(descending=True)
        frames, words = frames[order], words[order]
        previous, state, keys = _shifted(words), self._start(len(words)), self.key(frames)
        total = frames.new_zeros(())
        for position in range(int(lengths[0])):
            alive = int((lengths > position).sum())  # those that ended lie behind them
            state = (state[0][:alive], state[1][:alive])
            state = self.step(previous[:alive, position], state, frames[:alive], keys[:alive])
            total = total + self._lost(state[0], words[:alive, position])
        return total / lengths.sum()

    def _start(self, captions: int) -> tuple[Tensor, Tensor]:
        zeros = torch.zeros(captions, self.cell.hidden_size)
        return zeros, zeros

    def _lost(self, hidden: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(self.read(hidden), targets, ignore_index=PAD, reduction="sum")


class PeerCaptioner(Captioner):
    inputs: ClassVar = {"appearance": Input("appearance", "pool")}

    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self.peer = peer

    def encode(self, features: Features) -> State:
        frames = features["appearance"].values
        hidden, cell = self.peer._start(len(frames))
        return {"hidden": hidden, "cell": cell, "frames": frames, "keys": self.peer.key(frames)}

    def step(self, state: State, words: Tensor) -> Step:
        before = (state["hidden"], state["cell"])
        hidden, cell = self.peer.step(words, before, state["frames"], state["keys"])
        return Step(state | {"hidden": hidden, "cell": cell}, hidden, attention={})

    def logits(self, output: Tensor) -> Tensor:
        return self.peer.read(output)


def build(*, vocabulary: int, sizes: Mapping[str, int]) -> PeerCaptioner:
    """At its own sizes, for `experiments/folds`."""
    return PeerCaptioner(Peer(vocabulary=vocabulary, channels=sizes["appearance"]))


def _shifted(words: Tensor) -> Tensor:
    """The word before each one."""
    return torch.cat([torch.full_like(words[:, :1], BOS), words[:, :-1]], 1)
