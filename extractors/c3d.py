"""C3D (Tran et al. 2015), Sports-1M, on windows of 16 frames; `c3d_video` runs the same network over a whole video.

Outputs: `pool1` ... `pool5` (channels last: T, H, W, C) and `fc6`, `fc7` (4096, after their ReLU, as Caffe's in-place
layers leave them). The network `c3d_sports1m` also has `logits`, of 487 sports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from extractors.base import ExtractorError, Takes, require_outputs
from extractors.parts.c3d_network import CLASSES, OUTPUTS, PICTURE, WINDOW, C3dExtractor, load
from extractors.parts.published import c3d_sports1m
from extractors.parts.resizing import ResizeLibrary

VERSION = 1
TAKES: Takes = "clips"


def map_published(tree: Any) -> dict[str, Tensor]:
    """One published file by our names. The network and its mean clip are two files: `layers.` and `mean` of the state.

    The mean is an array of 3 x 16 x 128 x 171, alone or as a blob's `data`. A network's fc8 is left out.
    """
    volume = tree.get("data") if isinstance(tree, Mapping) else None if isinstance(tree, list) else tree
    if volume is not None:
        return {"mean": torch.as_tensor(volume).float().reshape(3, WINDOW, *PICTURE)}
    named = c3d_sports1m.map_published(tree)
    return {name: tensor for name, tensor in named.items() if not name.startswith("fc8")}


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = WINDOW,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    direct: bool = False,
) -> C3dExtractor:
    """`direct` resizes frames straight to 112 x 112, as dualAFR does."""
    require_outputs(outputs, known=(*OUTPUTS, "logits") if CLASSES.get(network) else OUTPUTS, network=network)
    if window != WINDOW and {"fc6", "fc7", "logits"} & set(outputs):
        raise ExtractorError(f"fc6 and fc7 take windows of {WINDOW} frames, not {window}")
    model = load(network, weights)
    return C3dExtractor(model, outputs=outputs, window=window, device=device, direct=direct, resize=resize)
