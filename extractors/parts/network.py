"""Extractors whose rows come out of one network: batch norms folded, channels last, run by any engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import nn

from extractors.base import Extractor
from extractors.parts import engines
from extractors.parts.engine_names import Engine, Precision
from extractors.parts.probing import without_arithmetic

Remember = Callable[[Callable[[], bytes]], bytes]


class NetworkExtractor(Extractor):
    """A family gives `forward`, and calls `prepare_for_inference` when it is built; the rest is the same for all."""

    network: nn.Module
    example: torch.Tensor  # a batch of one row
    device: torch.device
    precision: Precision = "float32"
    rows_together: bool = False  # an exported graph takes a batch as it comes: the network is mostly weights

    @abstractmethod
    def forward(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        """A batch that is on the device through `network`; traced by engines, so it is tensors and nothing else."""

    def prepare_for_inference(self, network: nn.Module, *, row: Sequence[int], device: str) -> None:
        """Make the network ready for batches of `row`-shaped items; a pass without arithmetic tells the shapes."""
        self.device = torch.device(device)
        self.network = network.eval()
        self.example = torch.zeros(1, *row)
        with without_arithmetic(self.network), engines.ConvBNTracer() as tracer:
            self.outputs = {name: tuple(found.shape[1:]) for name, found in self.forward(torch.zeros(1, *row)).items()}
        engines.fold_batch_norms(self.network, tracer.pairs())
        self.network = engines.in_channels_last(self.network).to(self.device)
        self._run: engines.Forward = self.forward
        self._start: Callable[[], engines.Forward] | None = None

    def use(self, engine: Engine, *, rows: int | None = 1, remember: Remember = lambda make: make()) -> None:
        """Let an engine run the forward pass, `rows` at a time or batches as they come, from the next batch on.

        An export takes long: `remember` may know the graph already, or else keeps what its argument makes.
        """
        self._start = partial(self._started, engine, rows, remember)

    def _started(self, engine: Engine, rows: int | None, remember: Remember) -> engines.Forward:
        module = engines.ForwardModule(self.network, self.forward, tuple(self.outputs))
        if engine == "compile":
            most = rows or 1
            return engines.compiled(module, rows=lambda: min(most, self.most_rows or most))
        example = self.example.repeat(rows or 2, *[1] * (self.example.dim() - 1))  # of one row, one is taken for fixed
        graph = remember(partial(engines.export, module, example=example, any_number=rows is None))
        return engines.loaded(engine, graph, names=module.names, rows=rows)

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        return self.run(batch)

    def run(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        """`forward` on the device, by the engine in use."""
        if self._start is not None:
            self._run, self._start = self._start(), None
        half = self.precision == "bfloat16"
        with torch.inference_mode(), torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            return self._run(batch.to(self.device, non_blocking=True))
