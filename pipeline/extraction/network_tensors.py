"""Every number that a built extractor computes with, to compare it with another one of the same weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from extractors.base import Extractor

OWN = "extractors"  # objects of these modules may hold networks


def differing_tensors(found: Extractor, expected: Extractor) -> tuple[list[str], int]:
    """Names of tensors that one of them alone has or that are not equal, and how many are compared."""
    ours, theirs = dict(_tensors(found)), dict(_tensors(expected))
    unequal = [name for name, tensor in theirs.items() if name not in ours or not torch.equal(ours[name], tensor)]
    return [*unequal, *(name for name in ours if name not in theirs)], len(theirs)


def _tensors(extractor: Extractor) -> Iterator[tuple[str, Tensor]]:
    return _inside(extractor, "", set())


def _inside(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, nn.Module):
        yield from _of_module(value, path)
    else:
        for name, each in _members(value):
            yield from _inside(each, f"{path}.{name}".lstrip("."), seen)


def _of_module(module: nn.Module, path: str) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in chain(module.named_parameters(), module.named_buffers()):
        yield f"{path}.{name}", tensor.detach()


def _members(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(enumerate(value))
    return list(vars(value).items()) if type(value).__module__.split(".")[0] == OWN else []
