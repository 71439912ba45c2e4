"""OpenL3 (Cramer et al. 2019): an embedding of one second of sound at 48 kHz, learnt from sound and picture together.

`network` is the input and the videos it was trained on: linear, mel128 or mel256, and music or env, as `mel256_env`.
`package/mel256_env` is the same network of the `openl3` package, where that is installed, with weights of its own.
Windows are centred on their moment unless `center` is false; the hop is the sampling's.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from extractors.base import AudioExtractor, ExtractorError, Takes, make_network, require_outputs
from extractors.parts.decibels import FOURIER, GENERATIONS, RATE, STEP, spectrogram
from extractors.parts.network import NetworkExtractor

VERSION = 1
TAKES: Takes = "audio"
REPRESENTATIONS, CONTENTS = tuple(FOURIER), ("music", "env")
NETWORKS = tuple(f"{representation}_{content}" for representation in REPRESENTATIONS for content in CONTENTS)
PACKAGE = "package/"
CHANNELS = (64, 64, 128, 128, 256, 256, 512, 512)
POOLED_AFTER = (1, 3, 5)  # convolutions that a 2x2 pooling follows
SHAPES = {"linear": (1, 257, 197), "mel128": (1, 128, 199), "mel256": (1, 256, 199)}  # of the network's input
# The last pooling, (frequency, time), of the maps: 16 x 24 of mel128, 32 x 24 of the others
LAST_POOL = {
    "linear": {6144: (8, 8), 512: (32, 24)},
    "mel128": {6144: (4, 8), 512: (16, 24)},
    "mel256": {6144: (8, 8), 512: (32, 24)},
}
OUTPUTS = ("pool",)
EPSILON = 1e-3  # Keras' own of a batch normalisation


class OpenL3(nn.Module):
    """A norm of the input, then eight convolutions with a norm and a ReLU after each but the last."""

    def __init__(self, representation: str, size: int) -> None:
        super().__init__()
        self.pool = LAST_POOL[representation][size]
        inputs = (1, *CHANNELS[:-1])
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels, eps=EPSILON) for channels in inputs)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(inputs, CHANNELS, strict=True))

    def forward(self, pictures: Tensor) -> Tensor:
        """(B, 1, frequency, time) -> (B, 512 or 6144)."""
        maps = self.norms[0](pictures)
        for number, conv in enumerate(self.convs):
            maps = conv(maps)
            if number + 1 < len(self.convs):
                maps = self.norms[number + 1](maps).relu()
            if number in POOLED_AFTER:
                maps = F.max_pool2d(maps, 2)
        return channels_last(F.max_pool2d(maps, self.pool))


def channels_last(maps: Tensor) -> Tensor:
    """(B, C, h, w) -> (B, h w C), as Keras flattens; a bare flatten has the same shape and another order."""
    return maps.permute(0, 2, 3, 1).flatten(1)


# Keras' names of what a layer has -> ours
KINDS = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def map_published(state: Mapping[str, Tensor | np.ndarray]) -> dict[str, Tensor]:
    """The state of `OpenL3` from torchopenl3's file, or from the data sets of the h5 file by their paths.

    Both hold the same layers, numbered in order. The spectrogram's own arrays are left out: we compute them.
    """
    tensors = {name: torch.as_tensor(value) for name, value in state.items()}
    convs = [*_numbered(tensors, "conv2d"), "audio_embedding_layer"]
    layers = {name: f"convs.{number}" for number, name in enumerate(convs)}
    layers |= {name: f"norms.{number}" for number, name in enumerate(_numbered(tensors, "batch_normalization"))}
    found: dict[str, Tensor] = {}
    for path, tensor in tensors.items():
        layer, kind = _layer_and_kind(path)
        if layer in layers:
            turned = tensor.permute(3, 2, 0, 1).contiguous() if kind == "kernel" else tensor
            found[f"{layers[layer]}.{KINDS.get(kind, kind)}"] = turned
    for number in range(len(CHANNELS)):
        found.setdefault(f"norms.{number}.num_batches_tracked", torch.tensor(0))
    return found


def _layer_and_kind(path: str) -> tuple[str, str]:
    """`conv2d_1.weight` and `conv2d_1/conv2d_1/kernel:0` alike."""
    parts = path.split(":")[0].replace("/", ".").split(".")
    return ".".join(parts[-2:-1]), parts[-1]


def _numbered(paths: Mapping[str, Tensor], stem: str) -> list[str]:
    """The layers called `stem` or `stem_7`, in the order of their numbers, wherever Keras began to count."""
    names = {_layer_and_kind(path)[0] for path in paths}
    return sorted(
        (name for name in names if name == stem or name.removeprefix(f"{stem}_").isdigit()),
        key=lambda name: int(name.removeprefix(stem).lstrip("_") or 0),
    )


class OpenL3Extractor(NetworkExtractor, AudioExtractor):
    takes = TAKES
    rate = RATE
    window = RATE

    def __init__(
        self, network: OpenL3, *, outputs: Sequence[str], representation: str, frontend: str, center: bool, device: str
    ) -> None:
        self.representation, self.frontend, self.names = representation, frontend, tuple(outputs)
        self.lead = RATE // 2 if center else 0
        self.preprocessing = {
            "rate": RATE,
            "spectrogram": representation,
            "generation": frontend,
            "fourier": FOURIER[representation],
            "step": STEP,
            "center": center,
        }
        self.prepare_for_inference(network, row=SHAPES[representation], device=device)

    def prepare(self, samples: np.ndarray) -> Tensor:
        picture = spectrogram(torch.from_numpy(samples).double(), self.representation, generation=self.frontend)
        return picture.float()[None]  # (1, frequency, time)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, 1, frequency, time) -> (B, 512 or 6144)."""
        return dict.fromkeys(self.names, self.network(batch))


class PackageExtractor(AudioExtractor):
    """The network of the `openl3` package, which brings its own front end, weights and framework."""

    rate = RATE
    window = RATE

    def __init__(self, network: str, *, outputs: Sequence[str], embedding: int, center: bool) -> None:
        try:
            models = importlib.import_module("openl3.models")
        except ImportError as error:
            reason = f"{PACKAGE}{network} needs the package openl3 (pip install openl3), or take '{network}', our own"
            raise ExtractorError(reason) from error
        self.model = models.load_audio_embedding_model(*network.split("_"), embedding)
        self.lead = RATE // 2 if center else 0
        self.preprocessing = {"rate": RATE, "package": f"openl3 {version('openl3')}", "center": center}
        self.outputs = dict.fromkeys(outputs, (embedding,))

    def prepare(self, samples: np.ndarray) -> Tensor:
        return torch.from_numpy(samples)[None]  # (1, 48000)

    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        rows = torch.from_numpy(np.asarray(self.model.predict(batch.numpy(), verbose=0)))
        return dict.fromkeys(self.outputs, rows)


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    embedding: int = 512,
    center: bool = True,
    frontend: str = "v0.4",
    device: str = "cpu",
) -> AudioExtractor:
    name = network.removeprefix(PACKAGE)
    _require("network", name, NETWORKS)
    representation = name.split("_")[0]
    _require("embedding", embedding, LAST_POOL[representation])
    _require("frontend", frontend, GENERATIONS)
    require_outputs(outputs, known=OUTPUTS, network=network)
    if network != name:
        return PackageExtractor(name, outputs=outputs, embedding=embedding, center=center)
    model = make_network(network, lambda: OpenL3(representation, embedding), weights)
    return OpenL3Extractor(
        model, outputs=outputs, representation=representation, frontend=frontend, center=center, device=device
    )


def _require(name: str, value: object, allowed: Collection[object]) -> None:
    if value not in allowed:
        raise ExtractorError(f"{name} is '{value}', allowed: {', '.join(str(each) for each in allowed)}")
