"""A training run on disk: tensors in safetensors, everything else in JSON, published atomically."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load, save
from torch import Tensor, nn

from pipeline.core import UNSEALED, read_sealed_tensors, write_sealed_tensors


def save_model(path: Path, model: nn.Module) -> None:
    save_tensors(path, model.state_dict())


def load_model(path: Path, model: nn.Module, *, hint: str = "") -> None:
    """`hint` is the command that makes the file again."""
    model.load_state_dict(load_tensors(path, hint=hint))


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    named = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    write_sealed_tensors(path, save(named, metadata=UNSEALED))


def load_tensors(path: Path, *, hint: str) -> dict[str, Tensor]:
    return load(read_sealed_tensors(path, hint=hint))
