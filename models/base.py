"""The captioner contract. Training, search, ensembling and attention recording exist once and serve every model.

A model turns the features of a batch of videos into a state (`encode`) and then moves that state word by word
(`step`). A state is a dictionary of tensors whose first dimension is the batch, so that beams can be reordered
by indexing without knowing what is inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

State = dict[str, Tensor]


class Modality(NamedTuple):
    """One slot of features, padded to the longest video of the batch."""

    values: Tensor  # (B, L, ...) float32
    mask: Tensor  # (B, L) bool, True where the row is real


Features = Mapping[str, Modality]  # slot name -> modality


@dataclass(frozen=True)
class Step:
    """What one word costs: the next state, the vector that words are read from, and where the model looked."""

    state: State
    output: Tensor  # (B, O)
    attention: Mapping[str, Tensor]  # e.g. "time" -> (B, L)


class Captioner(nn.Module, ABC):
    slots: ClassVar[Mapping[str, str]]  # the modalities the model reads: slot -> the tensor it wants from that store

    @abstractmethod
    def encode(self, features: Features) -> State:
        """The state before the first word."""

    @abstractmethod
    def step(self, state: State, words: Tensor) -> Step:
        """Read the previous words (B,) and move on by one."""

    @abstractmethod
    def logits(self, output: Tensor) -> Tensor:
        """Scores of the vocabulary from a step's output; apart from `step` so that training does it once."""

    def extra_loss(self, features: Features, state: State) -> Tensor:  # noqa: ARG002 - models that have one use these
        """A model's own term beside the cross-entropy; zero for most."""
        return torch.zeros(())


def select(state: State, rows: Tensor) -> State:
    """The same state for other members of the batch: repeated videos, or reordered beams."""
    return {name: tensor.index_select(0, rows) for name, tensor in state.items()}
