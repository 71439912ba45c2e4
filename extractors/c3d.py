"""C3D (Tran et al. 2015), Sports-1M, on windows of 16 frames; `c3d_video` runs the same network over a whole video.

Outputs: `pool1` ... `pool5` (channels last: T, H, W, C) and `fc6`, `fc7` (4096, after their ReLU, as Caffe's in-place
layers leave them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from extractors.base import ExtractorError, Takes, require_outputs
from extractors.parts.c3d_network import LEVELS, OUTPUTS, PICTURE, WINDOW, C3dExtractor, load
from extractors.parts.resizing import ResizeLibrary
from extractors.parts.windows import without_prefix

VERSION = 1
TAKES: Takes = "clips"


def map_published(tree: Any) -> dict[str, Tensor]:
    """One published file by our names. The network and its mean clip are two files: `layers.` and `mean` of the state.

    The mean is an array of 3 x 16 x 128 x 171, alone or as a blob's `data`. A network is a state dictionary whose
    names are `conv1`, `conv1a` or `conv1a.conv`, `fc6` or `fc6-1`; or Lasagne's list of arrays. Its fc8 is left out.
    """
    state = dict(_lasagne(tree)) if isinstance(tree, list) else tree
    volume = state.get("data") if isinstance(state, Mapping) else state
    if volume is not None:
        return {"mean": torch.as_tensor(volume).float().reshape(3, WINDOW, *PICTURE)}
    state = without_prefix(state, "backbone.")
    names = {_our_name(name): torch.as_tensor(value) for name, value in state.items()}
    return {name: tensor for name, tensor in names.items() if not name.startswith("fc8")}


def _lasagne(arrays: Sequence[np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Weight and bias of layer after layer; matrices are (inputs, outputs) there."""
    layers = [name for level in LEVELS for name, _, _ in level] + ["fc6", "fc7", "fc8"]
    for name, weight, bias in zip(layers, arrays[::2], arrays[1::2], strict=True):
        yield f"{name}.weight", weight.T.copy() if weight.ndim == 2 else weight
        yield f"{name}.bias", bias


def _our_name(name: str) -> str:
    name = re.sub(r"^conv([12])\.", r"conv\1a.", name)
    return re.sub(r"^(fc\d)-1\.", r"\1.", name).replace(".conv.", ".")


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = WINDOW,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    direct: bool = False,
) -> C3dExtractor:
    """`direct` resizes frames straight to 112 x 112, as dualAFR does."""
    require_outputs(outputs, known=OUTPUTS, network=network)
    if window != WINDOW and {"fc6", "fc7"} & set(outputs):
        raise ExtractorError(f"fc6 and fc7 take windows of {WINDOW} frames, not {window}")
    model = load(network, weights)
    return C3dExtractor(model, outputs=outputs, window=window, device=device, direct=direct, resize=resize)
