"""The captioner contract. Training, search, ensembling and attention recording exist once and serve every model.

A model turns the features of a batch of videos into a state (`encode`) and then moves that state word by word
(`step`). A state is a dictionary of tensors whose first dimension is the batch, so that beams can be reordered
by indexing without knowing what is inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

State = dict[str, Tensor]
CHOICE = "log_choice"  # the term of a step that is log p of what the model drew besides words


class Input(NamedTuple):
    """A tensor that a model reads: from the store in which slot of the run, and under which name there."""

    slot: str  # appearance | motion | regions | sound
    tensor: str
    optional: bool = False  # the model does without when the slot has no store
    axes: tuple[int, ...] = (1,)  # that a row may have: 1 a vector, 2 regions, 3 a map, 4 one in time


@dataclass(frozen=True)
class Modality:
    """One input, padded to the longest video of the batch. Most models unpack it: values, mask."""

    values: Tensor  # (B, L, ...) float32
    mask: Tensor  # (B, L) bool, True where the row is real
    seconds: Tensor | None = None  # (B, L) float32, the middle of the row in the video

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.values, self.mask))

    def when(self) -> Tensor:
        """(B, L) seconds; where nobody knows them a row takes one."""
        if self.seconds is not None:
            return self.seconds
        return torch.arange(self.mask.shape[1], device=self.mask.device).add(0.5).expand(self.mask.shape)


Features = Mapping[str, Modality]  # name of the input -> modality


@dataclass(frozen=True)
class Step:
    """What one word costs: the next state, the vector that words are read from, and the attention weights."""

    state: State
    output: Tensor  # (B, O)
    attention: Mapping[str, Tensor]  # e.g. "time" -> (B, L); docs/models.md has all names
    terms: Mapping[str, Tensor] = field(default_factory=dict)  # name -> (B,), added up over a caption's words


@dataclass(frozen=True)
class CaptionLoss:
    """Captions under teacher forcing: each word given the right words before it."""

    loss: Tensor  # (N,) cross-entropy of each caption, label smoothing included
    nll: Tensor  # (N,) minus log probability
    words: int  # in all captions of the batch, of which these may be a part: what a loss is divided by
    lengths: Tensor  # (N,) words of each
    terms: Mapping[str, Tensor]  # what the steps' terms add up to, (N,) each


@dataclass(frozen=True)
class LossContext:
    """What a model may use to compute its loss on N captions (copies counted) of B videos."""

    features: Features
    state: State  # of the B videos, encoded
    score: Callable[[State], CaptionLoss]  # the captions, teacher-forced from a state of the B videos
    score_no_grad: Callable[[State], CaptionLoss]  # in eval mode, without scheduled sampling: to compare, not to learn
    video_of: Tensor  # (N,) row of the state that each caption describes
    captions: Tensor  # (N,) row of each (video, caption) pair in the tables
    tables: dict[str, Tensor]  # a model's own, kept between epochs; (pairs,) each, NaN before a caption's first
    pairs: int  # that a table has rows for


class Captioner(nn.Module, ABC):
    inputs: ClassVar[Mapping[str, Input]]  # what the model reads, by the names that it uses
    stages: ClassVar[frozenset[str]] = frozenset()  # names that `begin` knows
    attention_inputs: ClassVar[Mapping[str, str]] = {"time": "appearance"}  # name of a step's attention -> its input
    copies: int = 1  # times that each caption is scored, for models that draw random choices; copies lie together

    @abstractmethod
    def encode(self, features: Features) -> State:
        """The state before the first word."""

    @abstractmethod
    def step(self, state: State, words: Tensor) -> Step:
        """Read the previous words (B,) and move on by one."""

    def all_steps(self, state: State, words: Tensor) -> Tensor | None:
        """Outputs (N, T, O) of the steps that read words (N, T), from an encoded state, of models that need no loop.

        What comes after a word must not change its output.
        """
        del state, words
        return None

    @abstractmethod
    def logits(self, output: Tensor) -> Tensor:
        """Scores of the vocabulary from a step's output; apart from `step` so that training does it once."""

    def loss(self, context: LossContext) -> Tensor:
        """What training lowers: cross-entropy per word, unless a paper says more.

        A sum over captions, divided by the batch's words: captions may be scored in parts, whose losses are added.
        """
        scored = context.score(context.state)
        return scored.loss.sum() / scored.words

    def first_reading(self, state: State) -> State | None:
        """The encoded state as it was after the first reading, for models that read a video twice; else None."""

    def columns(self) -> Mapping[str, Sequence[str]]:
        """What the weights stand for in attention that is over no input: name of the attention -> names."""
        return {}

    def begin(self, stage: str) -> None:
        """Called before the first epoch of each stage of training, for models whose parts take turns.

        What it decides must be kept in parameters or buffers: a run that is resumed, or opened to caption, does not
        come this way again.
        """


def select(state: State, rows: Tensor) -> State:
    """The same state for other members of the batch: repeated videos, or reordered beams."""
    return {name: tensor.index_select(0, rows) for name, tensor in state.items()}


def require_positive(**options: float) -> None:
    """Of a model's options those that divide or count something."""
    for option, value in options.items():
        if value <= 0:
            raise ValueError(f"{option} is {value}, allowed: above 0")
