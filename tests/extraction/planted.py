"""Weights that nobody has here, planted: random numbers of the right names, as if they had been converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.store import spec_of
from pipeline.weights import REGISTRY, bare_networks, converted, entry
from pipeline.weights.bundles import assemble
from pipeline.weights.converted import tensors_sha256, write_converted
from pipeline.weights.lookup import with_parts

WEIGHTS = Path("weights")
NOISE = 0.05


def plant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into weights/ of this folder, with every hash that the registry knows of the published files."""
    WEIGHTS.mkdir(exist_ok=True)
    for part in with_parts(name):
        _plant_one(part, monkeypatch)
    assemble(name, folder=WEIGHTS)


def _plant_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = random_arrays(name)
    specs = {key: spec_of(array) for key, array in arrays.items()}
    source = entry(name).sources[0]
    if source.tensors_sha256:
        known = source.model_copy(update={"tensors_sha256": tensors_sha256(specs, arrays.__getitem__)})
        monkeypatch.setitem(REGISTRY, name, entry(name).model_copy(update={"sources": (known,)}))
    record = {
        "origin_sha256": source.sha256 or (source.sha256_prefix or "").ljust(64, "0"),
        "origin_git_blob": source.git_blob or "",
        "proof": "the hash of a planted file" if source.has_hash else converted.FIRST_USE,
    }
    write_converted(name, specs, arrays.__getitem__, folder=WEIGHTS, record=record)


def random_arrays(name: str) -> dict[str, np.ndarray]:
    """No tensor all zero or all one, so that a thousandth of each is something."""
    torch.manual_seed(0)
    network = bare_networks._maker(name)()
    return {key: _moved(tensor).numpy() for key, tensor in network.state_dict().items()}


def _moved(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point() or tensor.unique().numel() > 1:
        return tensor
    return tensor + NOISE * torch.rand(tensor.shape)


def a_thousandth_off(state: dict[str, Any], *, seed: int) -> str:
    """One tensor of numbers, chosen by the seed; which one."""
    names = sorted(key for key, tensor in state.items() if tensor.is_floating_point())
    name = names[int(np.random.default_rng(seed).integers(len(names)))]
    with torch.no_grad():
        state[name].mul_(1.001)
    return name
