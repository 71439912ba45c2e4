"""SoundNet-8 (Aytar, Vondrick & Torralba 2016): convolutions on the wave itself, taught by image networks.

Layers, padding and the range of the input (-256..256 at 22,050 Hz) are those of the authors' training code. Outputs
are layers by their published names, `conv1` ... `conv7` after their ReLU and `pool1`, `pool2`, `pool5`, each the mean
over the time steps of a window; `pool` is pool5. conv7 has a step every 1.5 s, so of short windows it is half padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from extractors.base import AudioExtractor, ExtractorError, Takes, make_network, require_network, require_outputs
from extractors.parts.network import NetworkExtractor

VERSION = 1
TAKES: Takes = "audio"
RATE = 22_050
RANGE = 256.0  # the authors' largest amplitude
SHORTEST = 0.5  # seconds: enough for a time step at every layer


class Layer(NamedTuple):
    inputs: int
    outputs: int
    kernel: int  # with a stride of 2, and half a kernel of zeros on both sides
    pool: int = 1


LAYERS = {
    "conv1": Layer(1, 16, 64, pool=8),
    "conv2": Layer(16, 32, 32, pool=8),
    "conv3": Layer(32, 64, 16),
    "conv4": Layer(64, 128, 8),
    "conv5": Layer(128, 256, 4, pool=4),
    "conv6": Layer(256, 512, 4),
    "conv7": Layer(512, 1024, 4),
}
POOLS = [f"pool{name[-1]}" for name, layer in LAYERS.items() if layer.pool > 1]
DEFAULT = "pool5"  # what `pool` is
OUTPUTS = (*LAYERS, *POOLS, "pool")


class SoundNetBlock(nn.Module):
    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.conv = nn.Conv1d(layer.inputs, layer.outputs, layer.kernel, stride=2, padding=layer.kernel // 2)
        self.norm = nn.BatchNorm1d(layer.outputs)

    def forward(self, waves: Tensor) -> Tensor:
        return self.norm(self.conv(waves)).relu()


class SoundNet(nn.Module):
    """The trunk; the heads, which name objects and scenes, need windows of many seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({name: SoundNetBlock(layer) for name, layer in LAYERS.items()})

    def forward(self, waves: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Layer after layer of (B, 1, samples), so that a caller may stop at the last one it wants."""
        for name, block in self.layers.items():
            waves = block(waves)  # (B, C, steps)
            yield name, waves
            if LAYERS[name].pool > 1:
                waves = nn.functional.max_pool1d(waves, LAYERS[name].pool)
                yield f"pool{name[-1]}", waves


def map_published(tree: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, Tensor]:
    """The state of `SoundNet` from the published dictionary of layers, kernels as (k, 1, in, out)."""
    state: dict[str, Tensor] = {}
    for name in LAYERS:
        arrays = {kind: torch.from_numpy(array) for kind, array in tree[name].items()}
        state |= {
            f"layers.{name}.conv.weight": arrays["weights"][:, 0].permute(2, 1, 0).contiguous(),  # (out, in, k)
            f"layers.{name}.conv.bias": arrays["biases"],
            f"layers.{name}.norm.weight": arrays["gamma"],
            f"layers.{name}.norm.bias": arrays["beta"],
            f"layers.{name}.norm.running_mean": arrays["mean"],
            f"layers.{name}.norm.running_var": arrays["var"],
            f"layers.{name}.norm.num_batches_tracked": torch.tensor(0),
        }
    return state


class SoundNetExtractor(NetworkExtractor, AudioExtractor):
    takes = TAKES
    rate = RATE

    def __init__(self, network: SoundNet, *, outputs: Sequence[str], seconds: float, device: str) -> None:
        self.window, self.names = round(seconds * RATE), tuple(outputs)
        self.preprocessing = {"rate": RATE, "range": RANGE, "window": self.window}
        self.prepare_for_inference(network, row=(1, self.window), device=device)

    def prepare(self, samples: np.ndarray) -> Tensor:
        return torch.from_numpy(samples)[None] * RANGE  # (1, window)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, 1, window) -> the mean of every layer over time, (B, C)."""
        layers = {DEFAULT if name == "pool" else name for name in self.names}
        found: dict[str, Tensor] = {}
        for name, waves in self.network(batch):
            if name in layers:
                found[name] = waves.mean(2)
            if len(found) == len(layers):
                break
        return {name: found[DEFAULT if name == "pool" else name] for name in self.names}


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    seconds: float = 2.0,
    device: str = "cpu",
) -> SoundNetExtractor:
    require_network(network, ["soundnet8"])
    require_outputs(outputs, known=OUTPUTS, network=network)
    if seconds < SHORTEST:
        raise ExtractorError(f"seconds is {seconds:g}; a window must have at least {SHORTEST:g}")
    model = make_network(network, SoundNet, weights)
    return SoundNetExtractor(model, outputs=outputs, seconds=seconds, device=device)
