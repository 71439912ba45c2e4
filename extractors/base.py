"""The extractor contract. An extractor is arithmetic on arrays: it knows nothing about files.

A family is one module with `VERSION`, `TAKES` and `build(network, outputs=..., weights=..., device=...) -> Extractor`;
one that takes clips is also told their length, `window=...`. One that takes the whole video gets all chosen
frames at once and returns the rows itself, one per `window` frames.
The family's name in `params.yaml` is the module's name; there is no registry to fill.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from extractors import engines

Takes = Literal["frames", "clips", "video", "pairs", "audio"]
Remember = Callable[[Callable[[], bytes]], bytes]


class Extractor(ABC):
    """`prepare` runs on the CPU, `__call__` on the device; preprocessing travels with the weights."""

    takes: Takes
    outputs: Mapping[str, tuple[int, ...]]  # name -> shape of one row
    preprocessing: Mapping[str, Any]  # all that decides the input tensor; part of the fingerprint
    most_rows: int = 0  # of a batch, once the device's memory has set a limit

    @abstractmethod
    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        """One uint8 RGB frame (H, W, 3) as the network's input."""

    @abstractmethod
    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        """One row of every output per item of the batch."""


class NetworkExtractor(Extractor):
    """One whose rows come out of one network, so that any engine can run it: it gives `forward`, and calls `settle`."""

    network: nn.Module
    example: torch.Tensor  # a batch of one row
    device: torch.device

    @abstractmethod
    def forward(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        """The arithmetic of `__call__`: a batch on the device through `network`."""

    def settle(self, network: nn.Module, *, row: Sequence[int], device: str) -> None:
        """Make the network ready for batches of `row`-shaped items; one blank row tells the shapes of the outputs."""
        self.device = torch.device(device)
        self.network = network.eval()
        self.example = torch.zeros(1, *row)
        with torch.no_grad(), engines.Watch() as watch:
            self.outputs = {name: tuple(rows.shape[1:]) for name, rows in self.forward(self.example).items()}
        engines.fold_batch_norms(self.network, watch.pairs())
        self.network = engines.in_channels_last(self.network).to(self.device)
        self._run: engines.Forward = self.forward
        self._start: Callable[[], engines.Forward] | None = None

    def use(self, engine: engines.Engine, *, rows: int = 1, remember: Remember = lambda make: make()) -> None:
        """Let an engine run the forward pass, `rows` at a time, from the next batch on.

        An export takes long: `remember` may know the graph already, or else keeps what its argument makes.
        """
        self._start = partial(self._started, engine, rows, remember)

    def _started(self, engine: engines.Engine, rows: int, remember: Remember) -> engines.Forward:
        module = engines.Rows(self.network, self.forward, tuple(self.outputs))
        if engine == "compile":
            return engines.compiled(module, rows=rows)
        example = self.example.repeat(rows, *[1] * (self.example.dim() - 1))
        graph = remember(partial(engines.export, module, example=example))
        return engines.loaded(engine, graph, names=module.names, rows=rows)

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        if self._start is not None:
            self._run, self._start = self._start(), None
        if self.device.type == "cuda":
            batch = batch.pin_memory()
        with torch.inference_mode():
            return self._run(batch.to(self.device, non_blocking=True))


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
