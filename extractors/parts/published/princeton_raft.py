"""RAFT's files as its authors publish them (princeton-vl/RAFT: raft-small.pth, ...), in torchvision's words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor

WRAPPER = "module."  # of the authors' training on several GPUs
SPELLINGS = {  # in this order
    r"^fnet\.": "feature_encoder.",
    r"^cnet\.": "context_encoder.",
    r"(encoder)\.conv1\.": r"\1.convnormrelu.0.",
    r"(encoder)\.norm1\.": r"\1.convnormrelu.1.",
    r"(encoder)\.conv2\.": r"\1.conv.",
    r"(layer\d\.\d)\.conv(\d)\.": r"\1.convnormrelu\2.0.",
    r"(layer\d\.\d)\.norm(\d)\.": r"\1.convnormrelu\2.1.",
    r"^update_block\.encoder\.convc(\d)\.": r"update_block.motion_encoder.convcorr\1.0.",
    r"^update_block\.encoder\.convf(\d)\.": r"update_block.motion_encoder.convflow\1.0.",
    r"^update_block\.encoder\.conv\.": "update_block.motion_encoder.conv.0.",
    r"^update_block\.gru\.(conv[zrq])\.": r"update_block.recurrent_block.convgru1.\1.",
    r"^update_block\.gru\.(conv[zrq])(\d)\.": r"update_block.recurrent_block.convgru\2.\1.",
    r"^update_block\.mask\.0\.": "mask_predictor.convrelu.0.",
    r"^update_block\.mask\.2\.": "mask_predictor.conv.",
}


def map_published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """torchvision's own file is left as it is."""
    plain = {name.removeprefix(WRAPPER): tensor for name, tensor in state.items()}
    if not any(name.startswith("fnet.") for name in plain):
        return dict(state)
    return {_our_name(name): tensor for name, tensor in plain.items() if not _is_twice(name, plain)}


def _is_twice(name: str, state: Mapping[str, Tensor]) -> bool:
    """The norm of a shortcut is kept under two names: its own, and its place in the shortcut."""
    block = re.match(r"(.*\.layer\d\.\d)\.norm([34])\.", name)
    return block is not None and f"{block[1]}.conv{block[2]}.weight" not in state


def _our_name(name: str) -> str:
    for theirs, ours in SPELLINGS.items():
        name = re.sub(theirs, ours, name)
    return name
