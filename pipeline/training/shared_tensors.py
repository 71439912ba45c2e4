"""Tensors that several processes see, in memory without a name: it is gone with the last process that has it."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Mapping
from multiprocessing.reduction import DupFd
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core import anonymous_memory

ALIGNED = 64  # bytes, as torch's own: matrix products may add up in another order elsewhere


class TensorPlace(NamedTuple):
    shape: tuple[int, ...]
    kind: str  # numpy's name of the numbers
    offset: int


class SharedTensors(dict[str, Tensor]):
    """Sent to a process that is being started, it is the same memory there."""

    def __init__(self, layout: Mapping[str, TensorPlace], descriptor: int) -> None:
        self._layout, self._descriptor = dict(layout), descriptor
        weakref.finalize(self, os.close, descriptor)
        memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        super().__init__({name: _tensor(memory, place) for name, place in layout.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._layout, DupFd(self._descriptor))


def share_like(tensors: Mapping[str, Tensor]) -> SharedTensors:
    """Room for tensors of these shapes."""
    layout, size = {}, 0
    for name, tensor in tensors.items():
        layout[name] = TensorPlace(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), size)
        size += -(-tensor.nbytes // ALIGNED) * ALIGNED
    descriptor = anonymous_memory()
    os.ftruncate(descriptor, max(size, 1))
    return SharedTensors(layout, descriptor)


def bind(model: nn.Module, shared: Mapping[str, Tensor]) -> None:
    """The model's weights and buffers are these tensors from now on."""
    for name, tensor in model.state_dict(keep_vars=True).items():
        tensor.data = shared[name]


@torch.no_grad()
def copy_state(source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> None:
    for name, tensor in target.items():
        tensor.copy_(source[name])


def _opened(layout: Mapping[str, TensorPlace], descriptor: Any) -> SharedTensors:
    return SharedTensors(layout, descriptor.detach())


def _tensor(memory: mmap.mmap, place: TensorPlace) -> Tensor:
    return torch.from_numpy(np.ndarray(place.shape, np.dtype(place.kind), buffer=memory, offset=place.offset))
