"""The classes of a fine-tuned network: its classifier takes as many as the weights bring, all else stays."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

Head = nn.Linear | nn.Conv2d | nn.Conv3d


def take_classes_of(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give every classifier of the model (some networks have a second one for training) the rows of the weights'."""
    heads = {name: module for name, module in model.named_modules() if isinstance(module, Head)}
    if not heads:
        return
    published = _classes(list(heads.values())[-1])
    for name, head in heads.items():
        if _classes(head) == published and (found := weights.get(f"{name}.weight")) is not None:
            _resize(head, found)


def _classes(head: Head) -> int:
    return len(head.weight)


def _resize(head: Head, found: Tensor) -> None:
    """Only where rows alone differ: any other shape is another network, which loading will say."""
    if found.shape[1:] != head.weight.shape[1:] or len(found) == _classes(head):
        return
    head.weight = nn.Parameter(head.weight.new_zeros(found.shape))
    if head.bias is not None:
        head.bias = nn.Parameter(head.bias.new_zeros(len(found)))
    if isinstance(head, nn.Linear):
        head.out_features = len(found)
    else:
        head.out_channels = len(found)
