"""An ensemble of captioners: the mean of their probabilities of the next word."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import torch
from torch import Tensor, nn

from models.base import Captioner, Features, State, Step

Value = TypeVar("Value")


class Ensemble(Captioner):
    """Members may be of different kinds, but must share a vocabulary. Features and state are kept apart by number."""

    inputs: ClassVar = {}  # whatever the members read

    def __init__(self, members: Sequence[Captioner]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def encode(self, features: Features) -> State:
        states = [each.encode(part_of(features, number)) for number, each in self._numbered()]
        return joined(states)

    def first_reading(self, state: State) -> State | None:
        """Where every member has one."""
        readings = [each.first_reading(part_of(state, number)) for number, each in self._numbered()]
        found = [each for each in readings if each is not None]
        return joined(found) if len(found) == len(readings) else None

    def step(self, state: State, words: Tensor) -> Step:
        steps = [each.step(part_of(state, number), words) for number, each in self._numbered()]
        scores = [each.logits(step.output) for (_, each), step in zip(self._numbered(), steps, strict=True)]
        log_probs = torch.stack([logits.float().log_softmax(-1) for logits in scores])  # (M, B, V)
        mean = log_probs.logsumexp(0) - math.log(len(steps))
        return Step(joined([step.state for step in steps]), mean, _agreed([step.attention for step in steps]))

    def logits(self, output: Tensor) -> Tensor:
        """Log probabilities are scores that softmax leaves as they are."""
        return output

    def _numbered(self) -> list[tuple[int, Captioner]]:
        return list(enumerate(self.members))  # type: ignore[arg-type]


def joined(parts: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """One dictionary of several, each key behind the number of its part."""
    return {f"{number} {name}": value for number, part in enumerate(parts) for name, value in part.items()}


def part_of(whole: Mapping[str, Value], number: int) -> dict[str, Value]:
    prefix = f"{number} "
    return {name.removeprefix(prefix): value for name, value in whole.items() if name.startswith(prefix)}


def _agreed(attention: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of what all members recorded under one name and in one shape; the rest cannot be compared.

    Regions within frames that each member chose for itself have no mean: the frames of all members are listed.
    """
    shared = {
        name: [each[name] for each in attention] for name in attention[0] if all(name in each for each in attention)
    }
    apart = ("frame", "region") if any("frame" in each for each in attention) else ()
    chosen = {name: shared.pop(name) for name in apart if name in shared}
    found = {name: torch.stack(each).mean(0) for name, each in shared.items() if len({w.shape for w in each}) == 1}
    if len(chosen) == 2 and all(len({w.shape[2:] for w in each}) == 1 for each in chosen.values()):
        found |= {name: torch.cat(each, 1) for name, each in chosen.items()}  # (B, K of all members, ...)
    return found
