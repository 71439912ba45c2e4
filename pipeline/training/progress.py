"""The state of an unfinished run on disk: tensors in safetensors, everything else in JSON, published atomically."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.captioner import load_tensors, save_tensors
from pipeline.core import FramescribeError, read_sealed_json, read_sealed_tensors, write_sealed_json

AGAIN = "run the same command: the run is trained again from its beginning"
NOTHING: dict[str, Any] = {"history": [], "part": {}, "models": []}


def save_progress(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    tables: Mapping[str, Tensor],
    facts: dict[str, Any],
) -> None:
    """One file holds all tensors; the facts name it, so the two can never be of different epochs or steps."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in _optimizer_tensors(optimizer).items()}
    tensors |= {f"tables/{name}": tensor for name, tensor in tables.items()}
    tensors |= {f"random/{name}": tensor for name, tensor in _random_states(_device(model)).items()}
    name = f"progress-{facts['epoch']:04d}-{facts['part']['steps']:06d}.safetensors"
    save_tensors(path / name, tensors)
    write_sealed_json(path / "progress.json", facts | {"tensors": name})
    for older in path.glob("progress-*.safetensors"):
        if older.name != name:
            older.unlink()


def read_progress(path: Path) -> dict[str, Any]:
    """The lines of the learning curve so far, and how far the epoch after them is."""
    file = path / "progress.json"
    return read_sealed_json(file, hint=AGAIN) if file.is_file() else NOTHING


def drop_damaged_progress(path: Path) -> bool:
    """Whether a file that a run would go on from was damaged or gone; then none is left, and it begins anew."""
    try:
        kept = read_progress(path)
        for name in [*kept["models"], *([kept["tensors"]] if "tensors" in kept else [])]:
            read_sealed_tensors(path / name, hint=AGAIN)
    except FramescribeError:
        shutil.rmtree(path)
        return True
    return False


def load_progress(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, tables: dict[str, Tensor]) -> None:
    """Continue from what was published last."""
    tensors = load_tensors(path / read_progress(path)["tensors"], hint=AGAIN)
    model.load_state_dict(_part(tensors, "model/"))
    _restore_optimizer(optimizer, _part(tensors, "optimizer/"))
    tables.update({name: table.to(_device(model)) for name, table in _part(tensors, "tables/").items()})
    _restore_random_states(_device(model), _part(tensors, "random/"))


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def _random_states(device: torch.device) -> dict[str, Tensor]:
    """Of the generators that dropout and samples draw from."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def _restore_random_states(device: torch.device, states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)


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
