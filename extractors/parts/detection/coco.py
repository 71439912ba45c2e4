"""R-CNN detectors of torchvision (COCO): regions of proposals with their 1024-d fc7, or plain detections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import detection, get_model, list_models
from torchvision.models.detection import FasterRCNN

from extractors.base import ExtractorError, load_weights
from extractors.parts import engines
from extractors.parts.detection.base import Detector
from extractors.parts.detection.geometry import clip_boxes, thicken
from extractors.parts.detection.selection import best_first, best_regions

# These were trained when torchvision's frozen norms had no eps, and its loader still takes it away from them
WITHOUT_EPS = ("fasterrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn", "keypointrcnn_resnet50_fpn")


def coco_ids() -> list[int]:
    """COCO's own number of each of the 80 classes, as torchvision's detectors say it: 1 to 90, with gaps."""
    names = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]
    return [number for number, name in enumerate(names) if name not in ("__background__", "N/A")]


def rcnn_names() -> list[str]:
    return [name for name in list_models(module=detection) if "rcnn" in name]


def load_rcnn(
    network: str,
    *,
    weights: Mapping[str, Tensor] | None,
    short_side: int | None = None,
    long_side: int | None = None,
    proposals: int | None = None,
    **settings: Any,
) -> FasterRCNN:
    """A detector by torchvision's name; sides and a number of proposals that are not given are the network's own."""
    if network not in rcnn_names():
        raise ExtractorError(f"'{network}' is no R-CNN of torchvision; it has: {', '.join(rcnn_names())}")
    own = {"min_size": short_side, "max_size": long_side, "rpn_post_nms_top_n_test": proposals}
    given = {name: value for name, value in own.items() if value is not None}
    model = get_model(network, weights=None, weights_backbone=None, **given, **settings)
    if weights is not None:
        load_weights(model, weights, network=network)
        if network in WITHOUT_EPS:
            _take_eps_away(model.backbone)
    engines.in_channels_last(model)
    return model


def _take_eps_away(backbone: nn.Module) -> None:
    for module in backbone.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eps = 0.0


def describe(model: FasterRCNN) -> dict[str, Any]:
    transform = model.transform
    return {
        "resize_short_side": list(transform.min_size),
        "largest_long_side": transform.max_size,
        "interpolation": "bilinear",
        "antialias": False,
        "resize_library": "torch float32",
        "scale": "0..1",
        "mean": list(transform.image_mean),
        "std": list(transform.image_std),
        "channels": "RGB",
    }


class Proposals(Detector):
    """The proposals of a detector that its classes like best: their boxes as proposed, and their fc7."""

    def __init__(self, model: FasterRCNN) -> None:
        super().__init__()
        self.model = model
        self.preprocessing = describe(model)
        channels = model.roi_heads.box_predictor.cls_score.in_features
        self.taps = {"boxes": (4,), "features": (channels,), "scores": (), "classes": ()}

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        whole = thicken(picture)
        images, _ = self.model.transform([whole.float() / 255])
        maps = self.model.backbone(images.tensors)
        proposals, _ = self.model.rpn(images, maps)
        heads = self.model.roi_heads
        features = heads.box_head(heads.box_roi_pool(maps, proposals, images.image_sizes))
        logits, _regression = heads.box_predictor(features)
        boxes = proposals[0] * proposals[0].new_tensor(_to_original(whole, images.image_sizes[0]))
        boxes, inside = clip_boxes(boxes, height=picture.shape[1], width=picture.shape[2])
        boxes, features, scores = boxes[inside], features[inside], logits.softmax(1)[inside, 1:]
        kept, best = best_regions(boxes, scores, count=regions)
        classes = scores[kept].argmax(1) + 1
        return {"boxes": boxes[kept], "features": features[kept], "scores": best, "classes": classes}


class Detections(Detector):
    """What a detector itself answers: regressed boxes above a score, after suppression, the best first."""

    def __init__(self, model: FasterRCNN) -> None:
        super().__init__()
        self.model = model
        self.preprocessing = describe(model)
        model.roi_heads.mask_roi_pool = None  # masks are not needed, and cost more than the boxes
        self.taps = {"boxes": (4,), "scores": (), "classes": ()}

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        found = self.model([thicken(picture).float() / 255])[0]
        return best_within(picture, found["boxes"], found["scores"], found["labels"], count=regions)


def best_within(picture: Tensor, boxes: Tensor, scores: Tensor, labels: Tensor, *, count: int) -> dict[str, Tensor]:
    """The best of the detections that have an area in the picture."""
    boxes, inside = clip_boxes(boxes, height=picture.shape[1], width=picture.shape[2])
    kept = best_first(torch.where(inside, scores, -1), count=count)
    kept = kept[inside[kept]]
    return {"boxes": boxes[kept], "scores": scores[kept], "classes": labels[kept]}


def _to_original(picture: Tensor, resized: tuple[int, int]) -> list[float]:
    across, down = picture.shape[2] / resized[1], picture.shape[1] / resized[0]
    return [across, down, across, down]
