"""Files of torch's as arrays; nothing in them is run, and what would unfold to a huge one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import InputError, printable
from pipeline.weights import read_published

TORCH = (".pt", ".pth")


def read_torch(path: Path) -> dict[str, np.ndarray]:
    """By name; a file of one tensor has the name ''."""
    found = read_published(path.read_bytes(), layout="torch", source=f"'{path}'")
    named = found if isinstance(found, Mapping) else {"": found}
    return {str(name): _array(value, f"'{path}': '{printable(str(name))}'") for name, value in named.items()}


def _array(value: Any, where: str) -> np.ndarray:
    import torch

    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return np.array(value)
    if not isinstance(value, torch.Tensor) or value.is_sparse or value.is_quantized or value.is_complex():
        raise InputError(f"{where} is no plain tensor of numbers, but {type(value).__name__}")
    if value.nbytes > value.untyped_storage().nbytes():
        raise InputError(f"{where} says that it has {value.nbytes:,} bytes of numbers; the file has fewer")
    whole = value.float() if value.dtype == torch.bfloat16 else value  # numpy has no bfloat16; float32 holds them
    return whole.detach().numpy()
