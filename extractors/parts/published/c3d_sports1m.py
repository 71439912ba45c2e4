"""C3D's published files by our names, with the classifier of 487 sports where a file has one (`fc8`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from extractors.parts.c3d_network import LEVELS
from extractors.parts.windows import without_prefix


def map_published(tree: Any) -> dict[str, Tensor]:
    """A state dictionary whose names are `conv1`, `conv1a` or `conv1a.conv`, `fc6` or `fc6-1`; or Lasagne's list."""
    state: Mapping[str, Any] = dict(_lasagne(tree)) if isinstance(tree, list) else without_prefix(tree, "backbone.")
    return {_our_name(name): torch.as_tensor(value) for name, value in state.items()}


def _lasagne(arrays: Sequence[np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Weight and bias of layer after layer; matrices are (inputs, outputs) there."""
    layers = [name for level in LEVELS for name, _, _ in level] + ["fc6", "fc7", "fc8"]
    for name, weight, bias in zip(layers, arrays[::2], arrays[1::2], strict=True):
        yield f"{name}.weight", weight.T.copy() if weight.ndim == 2 else weight
        yield f"{name}.bias", bias


def _our_name(name: str) -> str:
    name = re.sub(r"^conv([12])\.", r"conv\1a.", name)
    return re.sub(r"^(fc\d)-1\.", r"\1.", name).replace(".conv.", ".")
