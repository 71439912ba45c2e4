"""The published files of bottom-up attention's detector, as the state of our network.

Two conversions of the authors' Caffe weights are around. `faster_rcnn_from_caffe_attr*.pkl` (airsplay) was made for
detectron2: background last, one objectness an anchor, detectron2's anchors. `bua-caffe-frcn-r101-*.pth` (MILVLG) is
Caffe's network with other names: background first, two scores an anchor, Caffe's anchors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from extractors.parts.detection.bottom_up import caffe_anchors, detectron_anchors

HEADS = "roi_heads.box_predictor."
# The regression of the boxes is never applied; the rest can be computed
UNUSED = ("bbox_pred.weight", "bbox_pred.bias", "num_batches_tracked", "cell_anchors.0", "pixel_mean", "pixel_std")
BACKGROUND_LAST = ("cls_score.weight", "cls_score.bias", "cls_embedding.weight", "attr_score.weight", "attr_score.bias")
CAFFE_HEADS = {"cls_embed.": "cls_embedding.", "attr_linear1.": "fc_attr.", "attr_linear2.": "attr_score."}
OBJECTNESS = "proposal_generator.rpn_head.objectness_logits."


def map_published(tree: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state of `BottomUp`; which of the two files it is, the names tell."""
    published = {name: torch.as_tensor(array) for name, array in tree.get("model", tree).items()}
    used = {name: tensor for name, tensor in published.items() if not name.endswith(UNUSED)}
    is_caffes = f"{HEADS}cls_embed.weight" in used
    return _from_caffe(used) if is_caffes else _from_detectron(used)


def _from_detectron(state: dict[str, Tensor]) -> dict[str, Tensor]:
    moved = {f"{HEADS}{name}": state[f"{HEADS}{name}"].roll(1, 0) for name in BACKGROUND_LAST}
    return state | moved | {"anchors": detectron_anchors()}


def _from_caffe(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A softmax over (background, object) ranks as the difference of the two does."""
    renamed = {_our_name(name): tensor for name, tensor in state.items()}
    for part in ("weight", "bias"):
        background, thing = renamed[f"{OBJECTNESS}{part}"].chunk(2)
        renamed[f"{OBJECTNESS}{part}"] = thing - background
    return renamed | {"anchors": caffe_anchors()}


def _our_name(name: str) -> str:
    for theirs, ours in CAFFE_HEADS.items():
        name = name.replace(f"{HEADS}{theirs}", f"{HEADS}{ours}")
    return name
