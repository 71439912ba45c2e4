"""The extractor contract. An extractor is arithmetic on arrays: it knows nothing about files.

A family is one module with `VERSION`, `TAKES` and `build(network, outputs=..., weights=..., device=...) -> Extractor`;
one that takes clips is also told their length, `window=...`. One that takes the whole video gets all chosen
frames at once and returns the rows itself, one per `window` frames. `BEYOND`, where a family has it, is the number of
frames that a row needs after its own: T flow maps need T + 1 frames, though the row stands for T of them.
One that takes audio also states its `RATE`, in samples a second.
A family whose networks take different things has `takes_of(network)` in place of `TAKES`; an extractor knows its rate.
A `build` that has the argument `resize` can be told which library of `extractors.parts.resizing` makes frames smaller.
The family's name in `params.yaml` is the module's name; there is no registry to fill.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import torch

Takes = Literal["frames", "clips", "video", "pairs", "audio"]
RANDOM_SEED = 0  # untrained networks are at least the same untrained network everywhere
Network = TypeVar("Network", bound=torch.nn.Module)


class Extractor(ABC):
    """`prepare` runs on the CPU, `__call__` on the device; preprocessing travels with the weights.

    Several videos are in flight: `prepare` may run in several threads at once, `__call__` never does.
    """

    takes: Takes
    outputs: Mapping[str, tuple[int, ...]]  # name -> shape of one row
    preprocessing: Mapping[str, Any]  # all that decides the input tensor; part of the fingerprint
    most_rows: int = 0  # of a batch, once the device's memory has set a limit

    @abstractmethod
    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        """One uint8 RGB frame (H, W, 3) as the network's input."""

    def pixels(self, frame: np.ndarray) -> torch.Tensor:
        """What of a frame travels to another device, where `finish` makes of it what `prepare` gives, bit for bit."""
        return self.prepare(frame)

    def finish(self, batch: torch.Tensor) -> torch.Tensor:
        """A batch of `pixels` as one of prepared frames."""
        return batch

    @abstractmethod
    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        """One row of every output per item of the batch."""


class AudioExtractor(Extractor):
    """Takes windows of mono sound: `prepare` gets float32 (window,) in -1..1, zeros where there is none."""

    takes: Takes = "audio"
    rate: int  # samples a second
    window: int  # samples that a row is made of
    lead: int = 0  # of them before the row's moment: half a window where rows are centred

    @abstractmethod
    def prepare(self, samples: np.ndarray) -> torch.Tensor:
        """One window as the network's input."""


class ExtractorError(ValueError):
    """Settings that no extractor can be built with: names the value and what is allowed."""


class MissingPackageError(ExtractorError):
    """A network of a package that is not installed; `extra` is the one of ours that brings it."""

    def __init__(self, network: str, *, package: str, extra: str) -> None:
        super().__init__(f"{network} needs the package {package}")
        self.extra = extra


class UnknownOutputError(ExtractorError):
    """A tap that the network does not have."""

    def __init__(self, network: str, asked: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(f"{network} has no output {list(asked)}; it has: {', '.join(known)}")


def require_network(network: str, known: Sequence[str]) -> None:
    """For families of few networks: a name with a typo would otherwise stand in the fingerprint as another network."""
    if network not in known:
        raise ExtractorError(f"there is no network '{network}'; the family has: {', '.join(known)}")


def require_outputs(outputs: Sequence[str], *, known: Sequence[str], network: str) -> None:
    unknown = [name for name in outputs if name not in known]
    if unknown:
        raise UnknownOutputError(network, unknown, known)


def make_network(name: str, make: Callable[[], Network], weights: Mapping[str, torch.Tensor] | None) -> Network:
    """What `make` makes, with these weights; untrained without any."""
    torch.manual_seed(RANDOM_SEED)
    model = make()
    if weights is not None:
        load_weights(model, weights, network=name)
    return model


def load_weights(model: torch.nn.Module, weights: Mapping[str, torch.Tensor], *, network: str) -> None:
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ExtractorError(f"these are not the weights of {network}: {error}") from error
