"""VGGish (Hershey et al. 2017): 128 numbers for 0.96 s of sound at 16 kHz.

The front end and the network are the reference's: 25 ms frames every 10 ms without padding, magnitudes, 64 HTK mel
bands, log(mel + 0.01), patches of 96 frames. The network's map is flattened with its channels last.
`activation` chooses what the last layer gives: `raw` (the reference as it is now), `relu` (as it was at first, and the
torch port), or `pca`: whitened and in 256 steps, as in AudioSet's and YouTube-8M's released features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from extractors.base import AudioExtractor, ExtractorError, Takes, make_network, require_network, require_outputs
from extractors.parts.network import NetworkExtractor

VERSION = 1
TAKES: Takes = "audio"
RATE = 16_000
FRAME, STEP, FOURIER = 400, 160, 512  # samples of 25 ms, of 10 ms, and of the transform
BANDS, LOWEST, HIGHEST = 64, 125.0, 7500.0  # mel bands between these Hz
OFFSET = 0.01  # added before the logarithm
PATCH = 96  # frames of one row
WINDOW = (PATCH - 1) * STEP + FRAME  # 15,600 samples
SIZE = 128
LIMIT = 2.0  # the whitened values are clipped to -2..2 before they become 0..255
CHANNELS = (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool")
ACTIVATIONS = ("raw", "relu", "pca")
OUTPUTS = ("pool",)

# Variables of the published checkpoint -> our layers
CHECKPOINT = {
    "vggish/conv1": "features.0",
    "vggish/conv2": "features.3",
    "vggish/conv3/conv3_1": "features.6",
    "vggish/conv3/conv3_2": "features.8",
    "vggish/conv4/conv4_1": "features.11",
    "vggish/conv4/conv4_2": "features.13",
    "vggish/fc1/fc1_1": "embeddings.0",
    "vggish/fc1/fc1_2": "embeddings.2",
    "vggish/fc2": "embeddings.4",
}


def log_mel(samples: np.ndarray) -> Tensor:
    """(samples,) -> (frames, 64): frames that are whole, in double precision as the reference computes."""
    frames = torch.from_numpy(samples).double().unfold(0, FRAME, STEP)  # (frames, 400)
    window = torch.hann_window(FRAME, periodic=True, dtype=torch.float64)
    magnitudes = torch.fft.rfft(frames * window, FOURIER).abs()  # (frames, 257)
    return torch.log(magnitudes @ mel_matrix() + OFFSET)


@cache
def mel_matrix() -> Tensor:
    """(257, 64): triangles that are straight in mel, not in Hz, and of equal height; the constant has no weight."""
    bins = _mel(torch.linspace(0, RATE / 2, FOURIER // 2 + 1, dtype=torch.float64))[:, None]
    lowest, highest = _mel(torch.tensor([LOWEST, HIGHEST], dtype=torch.float64)).tolist()
    edges = torch.linspace(lowest, highest, BANDS + 2, dtype=torch.float64)
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    triangles = torch.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)).clamp(min=0)
    triangles[0] = 0
    return triangles


def _mel(frequency: Tensor) -> Tensor:
    return 1127 * torch.log1p(frequency / 700)


class Vggish(nn.Module):
    """Layers under the torch port's names, and `post` where `pca` was asked for."""

    def __init__(self, *, with_pca: bool) -> None:
        super().__init__()
        self.features = nn.Sequential(*_convolutions())
        sizes = (512 * 6 * 4, 4096, 4096, SIZE)
        linear = [nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)]
        self.embeddings = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
        self.post = Whitening() if with_pca else None

    def forward(self, patches: Tensor) -> Tensor:
        """(B, 1, 96, 64) -> (B, 128), before any activation."""
        maps = self.features(patches)  # (B, 512, 6, 4)
        return self.embeddings(maps.permute(0, 2, 3, 1).flatten(1))  # the published weights expect channels last


def _convolutions() -> list[nn.Module]:
    layers: list[nn.Module] = []
    inputs = 1
    for each in CHANNELS:
        if isinstance(each, int):
            layers += [nn.Conv2d(inputs, each, 3, padding=1), nn.ReLU()]
            inputs = each
        else:
            layers.append(nn.MaxPool2d(2, 2))
    return layers


class Whitening(nn.Module):
    """The published post-processing: principal components, clipped, as whole numbers from 0 to 255."""

    pca_eigen_vectors: Tensor  # (128, 128)
    pca_means: Tensor  # (128,)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pca_eigen_vectors", torch.eye(SIZE))
        self.register_buffer("pca_means", torch.zeros(SIZE))

    def forward(self, embeddings: Tensor) -> Tensor:
        projected = (embeddings - self.pca_means) @ self.pca_eigen_vectors.T
        return torch.round((projected.clamp(-LIMIT, LIMIT) + LIMIT) * (255 / (2 * LIMIT)))


def map_published(state: Mapping[str, Tensor | np.ndarray]) -> dict[str, Tensor]:
    """The state of `Vggish` from the torch port's file, or from the checkpoint's variables as arrays by name;
    of the pca file, as npz or the port's, the state of `Whitening`."""
    tensors = {name: torch.as_tensor(value) for name, value in state.items()}
    if any(name.startswith("vggish/") for name in tensors):
        return _from_checkpoint(tensors)
    return {name: tensor.flatten() if name == "pca_means" else tensor for name, tensor in tensors.items()}


def _from_checkpoint(variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for theirs, ours in CHECKPOINT.items():
        kernel = variables[f"{theirs}/weights"]  # (h, w, in, out) or (in, out)
        state[f"{ours}.weight"] = (kernel.permute(3, 2, 0, 1) if kernel.ndim == 4 else kernel.T).contiguous()
        state[f"{ours}.bias"] = variables[f"{theirs}/biases"]
    return state


class VggishExtractor(NetworkExtractor, AudioExtractor):
    takes = TAKES
    rate = RATE
    window = WINDOW
    network: Vggish
    rows_together = True  # 290 MB of weights, nearly all of them in the linear layers

    def __init__(self, network: Vggish, *, outputs: Sequence[str], activation: str, device: str) -> None:
        self.activation, self.names = activation, tuple(outputs)
        self.preprocessing = {
            "rate": RATE,
            "frame": FRAME,
            "step": STEP,
            "fourier": FOURIER,
            "window": "periodic hann",
            "spectrum": "magnitude",
            "mel": f"{BANDS} htk bands, {LOWEST:g}..{HIGHEST:g} Hz",
            "logarithm": f"log(mel + {OFFSET})",
            "patch": PATCH,
        }
        self.prepare_for_inference(network, row=(1, PATCH, BANDS), device=device)

    def prepare(self, samples: np.ndarray) -> Tensor:
        return log_mel(samples).float()[None]  # (1, 96, 64)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        """(B, 1, 96, 64) -> (B, 128)."""
        embeddings = self.network(batch)
        if self.activation == "relu":
            embeddings = embeddings.relu()
        if self.network.post is not None:
            embeddings = self.network.post(embeddings)
        return dict.fromkeys(self.names, embeddings)


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    activation: str = "raw",
    device: str = "cpu",
) -> VggishExtractor:
    require_network(network, ["vggish"])
    require_outputs(outputs, known=OUTPUTS, network=network)
    if activation not in ACTIVATIONS:
        raise ExtractorError(f"activation is '{activation}', allowed: {', '.join(ACTIVATIONS)}")
    wanted = None if weights is None else _wanted(weights, activation=activation)
    model = make_network(network, lambda: Vggish(with_pca=activation == "pca"), wanted)
    return VggishExtractor(model, outputs=outputs, activation=activation, device=device)


def _wanted(weights: Mapping[str, Tensor], *, activation: str) -> dict[str, Tensor]:
    """Without the pca where it is not used; the published networks lack it, for it is a file of its own."""
    if activation == "pca" and "post.pca_means" not in weights:
        raise ExtractorError("activation 'pca' needs the weights 'vggish_quantised'; these have no pca")
    return {name: tensor for name, tensor in weights.items() if activation == "pca" or not name.startswith("post.")}
