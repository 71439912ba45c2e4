"""A training run on disk: tensors in safetensors, everything else in JSON, published atomically."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor, nn

from pipeline.core import write_bytes


def save_model(path: Path, model: nn.Module) -> None:
    write_bytes(path, tensor_bytes(model.state_dict()))


def load_model(path: Path, model: nn.Module) -> None:
    model.load_state_dict(load_file(path))


def tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())})
