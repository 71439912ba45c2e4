"""Published files that tests make themselves, and entries of the registry for them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from pipeline.weights import Weights, WeightsSource

URL = "https://example.org/files/toy.pth"


class Bomb:
    """Pickled, it runs code when somebody loads it carelessly: it makes a file."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def published(state: object) -> bytes:
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


def entry_of(data: bytes, **facts: Any) -> Weights:
    """An entry with one source, proven by the sha256 of `data` unless `source` says otherwise."""
    source = {"url": URL, "sha256": hashlib.sha256(data).hexdigest()} | facts.pop("source", {})
    return Weights(**{"description": "a toy", "licence": "MIT", "sources": (WeightsSource(**source),)} | facts)
