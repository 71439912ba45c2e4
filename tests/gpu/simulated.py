"""A GPU that is not there: tensors without numbers, which know their device as on a machine that has one.

torch's `FakeTensorMode` computes shapes, types and devices, and raises where tensors of two devices meet. A module is
made on the CPU and moved with `.to`, as it is in earnest: what is a plain attribute instead of a buffer stays behind.
Backward passes cannot be run on a `cuda` that is not there; `SECOND`, a second CPU, stands for it in these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.nn.utils import rnn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torchvision import extension as _torchvision_operators  # noqa: F401 - so that torch knows its `nms`

GPU, SECOND = "cuda", "cpu:1"
COUNT = 2  # what every number is that the program asks for
aten = torch.ops.aten


@contextmanager
def simulated_gpu(mode: FakeTensorMode | None = None) -> Iterator[FakeTensorMode]:
    """Everything within is without numbers; real tensors may come in. Given the same mode, tensors of before go on."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(nn.Module, "_apply", _apply))
        stack.enter_context(patch("torch.cuda.amp.common.amp_definitely_not_available", lambda: False))
        stack.enter_context(patch("torch.cuda.is_bf16_supported", lambda: True))
        # In inference mode operations would come to the modes below before torch has taken them apart
        stack.enter_context(patch("torch._C._InferenceMode", lambda on: torch.no_grad() if on else nullcontext()))
        stack.enter_context(patch.object(rnn._VF, "_pad_packed_sequence", _unpacked, create=True))  # no operation
        stack.enter_context(torch.backends.cudnn.flags(enabled=False))  # it would look for a driver
        mode = stack.enter_context(mode or FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(StandIns())
        stack.enter_context(Repairs())
        yield mode


class StandIns(TorchDispatchMode):
    """Answers where a program asks for numbers, which are not there: every choice takes all there is, a box overlaps no
    other, nothing has ended, and any other number is `COUNT`. Also the one rule that torch's fake tensors do not hold:
    indices lie on the CPU or beside what they index."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in ANSWERS:
            return ANSWERS[func](*args, **kwargs)
        if func in INDEXING:
            places = [each if each is None else _numbers_of(args[0], each) for each in args[1]]
            return func(args[0], places, *args[2:], **kwargs)
        found = func(*args, **kwargs)
        if func in (aten.all.default, aten.any.default):
            found.said = func is aten.any.default  # nothing has ended, and something goes on
        return found


class Repairs(TorchFunctionMode):
    """`torch.tensor` takes all CPUs for one, and would leave its numbers on the first; copies would look for them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is Tensor.__deepcopy__:
            return args[0].clone()
        to_second = func is torch.tensor and str(kwargs.get("device")) == SECOND and kwargs.pop("device")
        found = func(*args, **kwargs)
        return found.to(SECOND) if to_second else found


def _numbers_of(indexed: Tensor, index: Tensor) -> Tensor:
    if index.device not in (torch.device("cpu"), indexed.device):
        raise RuntimeError(f"indices on {index.device} of a tensor on {indexed.device}")
    return index if index.dtype not in (torch.bool, torch.uint8) else _all_of(index)[:, 0]


def _all_of(mask: Tensor) -> Tensor:
    return torch.zeros(mask.numel(), mask.dim(), dtype=torch.long, device=mask.device)


def _number(tensor: Tensor) -> float:
    return getattr(tensor, "said", float(COUNT) if tensor.dtype.is_floating_point else COUNT)


def _all_boxes(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    if boxes.device != scores.device:
        raise RuntimeError(f"boxes on {boxes.device}, scores on {scores.device}")
    return torch.arange(len(boxes), device=boxes.device)


def _counted(values: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    return values.new_zeros(max(minlength, COUNT + 1))


def _packed(sequences: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    if lengths.device != torch.device("cpu"):
        raise RuntimeError(f"lengths of sequences to pack must be on the CPU, not on {lengths.device}")
    steps = sequences.transpose(0, 1) if batch_first else sequences  # (T, B, ...)
    with unset_fake_temporarily():  # torch reads these numbers where no mode can answer for them
        sizes = torch.full((len(steps),), steps.shape[1])
    return steps.flatten(0, 1), sizes


def _unpacked(data: Tensor, sizes: Tensor, batch_first: bool, *_: Any) -> tuple[Tensor, Tensor]:
    steps = data.unflatten(0, (len(sizes), -1))
    return steps.transpose(0, 1) if batch_first else steps, torch.full((steps.shape[1],), len(sizes))


INDEXING = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default)
ANSWERS: dict[Any, Callable[..., Any]] = {
    aten.nonzero.default: _all_of,
    aten._local_scalar_dense.default: _number,
    torch.ops.torchvision.nms.default: _all_boxes,
    aten._unique2.default: lambda values, *_: (values.flatten()[:1],) * 3,
    aten._pack_padded_sequence.default: _packed,
    aten.bincount.default: _counted,
}


def _apply(module: nn.Module, move: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    """As torch's own, which cannot exchange fake parameters in place."""
    for child in module.children() if recurse else ():
        child._apply(move)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            moved = move(parameter.detach())
            module._parameters[name] = nn.Parameter(moved, requires_grad=parameter.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = move(buffer)
    return module
