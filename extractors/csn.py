"""ir-CSN (Tran et al. 2019): channel-separated networks, interaction-reduced, on windows of 32 RGB frames.

Outputs: `layer1` ... `layer4` (channels last: T, H, W, C), `pool` (2048, the mean of layer4) and `logits` (400).
The option `normalisation` says who trained the weights: `vmz`, or `mmaction2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from extractors.base import ExtractorError, Takes, make_network, require_network, require_outputs
from extractors.parts.csn_network import NETWORKS, PREPARATIONS, Csn
from extractors.parts.residual3d import OUTPUTS
from extractors.parts.resizing import ResizeLibrary
from extractors.parts.windows import WindowExtractor, without_prefix

VERSION = 2
TAKES: Takes = "clips"


def map_published(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state of `Csn` from mmaction2's names: `backbone.`, depthwise `conv2.0.`, head `cls_head.fc_cls.`."""
    names = without_prefix(state, "module.", "backbone.").items()
    return {name.replace(".conv2.0.", ".conv2.").replace("cls_head.fc_cls.", "fc."): tensor for name, tensor in names}


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = 32,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    normalisation: str = "vmz",
) -> WindowExtractor:
    require_network(network, list(NETWORKS))
    require_outputs(outputs, known=OUTPUTS, network=network)
    if normalisation not in PREPARATIONS:
        raise ExtractorError(f"normalisation is '{normalisation}', allowed: {', '.join(PREPARATIONS)}")
    model = make_network(network, lambda: Csn(NETWORKS[network]), weights)
    preparation = PREPARATIONS[normalisation].by(resize)
    return WindowExtractor(model, preparation=preparation, outputs=outputs, window=window, device=device)
