"""EfficientNet-Lite0 of ml-illustrated (TensorFlow's weights), as the state of timm's `tf_efficientnet_lite0`."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

STAGES = (1, 2, 2, 3, 3, 4, 1)  # blocks; theirs are numbered through
OUTSIDE = {
    "_conv_stem": "conv_stem",
    "_bn0": "bn1",
    "_conv_head": "conv_head",
    "_bn1": "bn2",
    "_fc": "classifier",
}
# The first block does not expand: timm makes it a depthwise separable convolution, with other names
FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
LATER = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}


def map_published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {_our_name(name): tensor for name, tensor in state.items()}


def _our_name(name: str) -> str:
    """`_blocks.3._bn1.bias` -> `blocks.2.0.bn2.bias`."""
    layer, _, rest = name.partition(".")
    if layer != "_blocks":
        return f"{OUTSIDE[layer]}.{rest}"
    number, inner, kind = rest.split(".")
    stage, block = _place(int(number))
    return f"blocks.{stage}.{block}.{(LATER if int(number) else FIRST)[inner]}.{kind}"


def _place(number: int) -> tuple[int, int]:
    for stage, count in enumerate(STAGES):
        if number < count:
            return stage, number
        number -= count
    raise IndexError(f"it has more than {sum(STAGES)} blocks")
