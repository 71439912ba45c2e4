"""An entry called `toy`, and a place for converted weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import pipeline.weights.conversion  # noqa: F401 - it reads the registry once, which must be before a test adds to it
from pipeline.weights import REGISTRY, Weights
from tests.weights.making import entry_of, published

Register = Callable[..., Weights]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Add an entry for the bytes of a published file, for one test."""

    def add(name: str, data: bytes, **facts: Any) -> Weights:
        monkeypatch.setitem(REGISTRY, name, entry_of(data, **facts))
        return REGISTRY[name]

    return add


@pytest.fixture
def toy(register: Register) -> bytes:
    """The published file of an entry called `toy`."""
    data = published({"b": torch.arange(3.0), "a": torch.ones(2, 2), "count": torch.tensor(7)})
    register("toy", data)
    return data
