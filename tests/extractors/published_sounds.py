"""Published names and shapes of the networks of sound, written down independently of our modules."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

VGGISH_PORT = {
    "features.0": (64, 1, 3, 3),
    "features.3": (128, 64, 3, 3),
    "features.6": (256, 128, 3, 3),
    "features.8": (256, 256, 3, 3),
    "features.11": (512, 256, 3, 3),
    "features.13": (512, 512, 3, 3),
    "embeddings.0": (4096, 12288),
    "embeddings.2": (4096, 4096),
    "embeddings.4": (128, 4096),
}
# Published: kernels as (k, 1, in, out), every layer but the two heads with four statistics
SOUNDNET_KERNELS = {
    "conv1": (64, 1, 1, 16),
    "conv2": (32, 1, 16, 32),
    "conv3": (16, 1, 32, 64),
    "conv4": (8, 1, 64, 128),
    "conv5": (4, 1, 128, 256),
    "conv6": (4, 1, 256, 512),
    "conv7": (4, 1, 512, 1024),
    "conv8": (8, 1, 1024, 1000),
    "conv8_2": (8, 1, 1024, 401),
}
OPENL3_CONVS = ((1, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512))


def soundnet_tree(seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    numbers = np.random.default_rng(seed)
    tree = {}
    for name, shape in SOUNDNET_KERNELS.items():
        kinds = ("biases",) if name.startswith("conv8") else ("biases", "gamma", "beta", "mean", "var")
        tree[name] = {kind: numbers.random(shape[-1], np.float32) + 0.5 for kind in kinds}
        tree[name]["weights"] = numbers.standard_normal(shape, np.float32) / 8
    return tree


def openl3_state() -> dict[str, Tensor]:
    """torchopenl3's names and shapes, with the arrays of its spectrogram layer."""
    numbers = np.random.default_rng(0)

    def tensor(*shape: int) -> Tensor:
        return torch.from_numpy(numbers.random(shape, np.float32) - 0.4)

    state = {"speclayer.dft_real_kernels": tensor(1025, 1, 2048), "speclayer.mel_basis": tensor(256, 1025)}
    for number, (inputs, outputs) in enumerate(OPENL3_CONVS, start=1):
        conv = f"conv2d_{number}" if number < 8 else "audio_embedding_layer"
        state |= {f"{conv}.weight": tensor(outputs, inputs, 3, 3) / (3 * inputs**0.5), f"{conv}.bias": tensor(outputs)}
        norm = f"batch_normalization_{number}"
        state |= {f"{norm}.{kind}": tensor(inputs) for kind in ("weight", "bias", "running_mean")}
        state |= {f"{norm}.running_var": tensor(inputs) + 0.5, f"{norm}.num_batches_tracked": torch.tensor(7)}
    return state


def as_keras(state: dict[str, Tensor], *, first: int) -> dict[str, np.ndarray]:
    """The same under Keras' paths, which count from wherever the program had come to."""
    kinds = {"running_mean": "moving_mean", "running_var": "moving_variance"}
    found = {}
    for name, tensor in state.items():
        layer, kind = name.split(".")
        if layer == "speclayer" or kind == "num_batches_tracked":
            continue
        stem, _, number = layer.rpartition("_")
        if layer != "audio_embedding_layer":
            place = int(number) - 1 + first
            layer = f"{stem}_{place}" if place else stem
        if tensor.ndim == 4:
            found[f"{layer}/{layer}/kernel:0"] = tensor.permute(2, 3, 1, 0).numpy()
        else:
            is_norm = layer.startswith("batch")
            name = {"weight": "gamma", "bias": "beta" if is_norm else "bias"}.get(kind, kinds.get(kind, kind))
            found[f"{layer}/{layer}/{name}:0"] = tensor.numpy()
    return found
