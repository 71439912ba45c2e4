"""A training run on disk: tensors in safetensors, everything else in JSON, published atomically."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from pipeline.publish import write_bytes, write_json


def save_model(path: Path, model: nn.Module) -> None:
    write_bytes(path, _bytes(model.state_dict()))


def load_model(path: Path, model: nn.Module) -> None:
    model.load_state_dict(load_file(path))


def save_progress(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    tables: Mapping[str, Tensor],
    facts: dict[str, Any],
) -> None:
    """One file holds all tensors; the facts name it, so the two can never be of different epochs."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in _optimizer_tensors(optimizer).items()}
    tensors |= {f"tables/{name}": tensor for name, tensor in tables.items()}
    name = f"progress-{facts['epoch']:04d}.safetensors"
    write_bytes(path / name, _bytes(tensors))
    write_json(path / "progress.json", facts | {"tensors": name})
    for older in path.glob("progress-*.safetensors"):
        if older.name != name:
            older.unlink()


def read_history(path: Path) -> list[dict[str, Any]]:
    """The lines of the learning curve so far."""
    file = path / "progress.json"
    return json.loads(file.read_text())["history"] if file.is_file() else []


def load_progress(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, tables: dict[str, Tensor]) -> None:
    """Continue from the last published epoch."""
    tensors = load_file(path / json.loads((path / "progress.json").read_text())["tensors"])
    model.load_state_dict(_part(tensors, "model/"))
    _restore_optimizer(optimizer, _part(tensors, "optimizer/"))
    device = next(model.parameters()).device
    tables.update({name: table.to(device) for name, table in _part(tensors, "tables/").items()})


def _bytes(tensors: Mapping[str, Tensor]) -> bytes:
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())})


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    states = optimizer.state_dict()["state"]
    return {f"{index}/{name}": tensor for index, state in states.items() for name, tensor in state.items()}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    content = optimizer.state_dict()
    content["state"] = {}
    for key, tensor in tensors.items():
        index, name = key.split("/")
        content["state"].setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict(content)
