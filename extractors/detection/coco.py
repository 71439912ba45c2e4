"""R-CNN detectors of torchvision (COCO): regions of proposals with their 1024-d fc7, or plain detections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import get_model, list_models
from torchvision.models import detection as torchvision_detection
from torchvision.models.detection.roi_heads import RoIHeads

from extractors.detection.geometry import clip_boxes, thicken
from extractors.detection.selection import best_first, surviving_scores

CLASS_NMS = 0.3  # of the choice among proposals; that of a network's own detections is the network's


def rcnn_names() -> list[str]:
    return [name for name in list_models(module=torchvision_detection) if "rcnn" in name]


def load_rcnn(
    network: str, *, weights: Mapping[str, Tensor] | None, short_side: int | None, long_side: int | None, **settings: Any
) -> nn.Module:
    """A detector by torchvision's name; sides that are not given are the network's own."""
    if network not in rcnn_names():
        raise ValueError(f"'{network}' is no R-CNN of torchvision; it has: {', '.join(rcnn_names())}")
    sides = {"min_size": short_side, "max_size": long_side}
    given = {name: side for name, side in sides.items() if side is not None}
    model = get_model(network, weights=None, weights_backbone=None, **given, **settings)
    if weights is not None:
        model.load_state_dict(weights)
    return model


def describe(model: nn.Module) -> dict[str, Any]:
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


class Proposals(nn.Module):
    """The proposals of a detector that its classes like best: their boxes as proposed, and their fc7."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.preprocessing = describe(model)
        channels = _heads(model).box_predictor.cls_score.in_features
        self.taps: dict[str, tuple[int, ...]] = {"boxes": (4,), "features": (channels,), "scores": (), "classes": ()}

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        """The `regions` best regions of a uint8 RGB picture (3, H, W), boxes in its own pixels; classes are COCO's."""
        whole = thicken(picture)
        images, _ = self.model.transform([whole.float() / 255])
        maps = self.model.backbone(images.tensors)
        proposals, _ = self.model.rpn(images, maps)
        heads = _heads(self.model)
        features = heads.box_head(heads.box_roi_pool(maps, proposals, images.image_sizes))
        logits, _regression = heads.box_predictor(features)
        boxes = proposals[0] * proposals[0].new_tensor(_to_original(whole, images.image_sizes[0]))
        boxes, inside = clip_boxes(boxes, height=picture.shape[1], width=picture.shape[2])
        boxes, features, scores = boxes[inside], features[inside], logits.softmax(1)[inside, 1:]
        best = surviving_scores(boxes, scores, threshold=CLASS_NMS).amax(1)
        kept = best_first(best, count=regions)
        classes = scores[kept].argmax(1) + 1
        return {"boxes": boxes[kept], "features": features[kept], "scores": best[kept], "classes": classes}


class Detections(nn.Module):
    """What a detector itself answers: regressed boxes above a score, after suppression, the best first."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.preprocessing = describe(model)
        _heads(model).mask_roi_pool = None  # masks are not needed, and cost more than the boxes
        self.taps: dict[str, tuple[int, ...]] = {"boxes": (4,), "scores": (), "classes": ()}

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        """The `regions` best detections of a uint8 RGB picture (3, H, W), boxes in its own pixels."""
        found = self.model([thicken(picture).float() / 255])[0]
        boxes, inside = clip_boxes(found["boxes"], height=picture.shape[1], width=picture.shape[2])
        kept = best_first(torch.where(inside, found["scores"], -1), count=regions)
        kept = kept[inside[kept]]
        return {"boxes": boxes[kept], "scores": found["scores"][kept], "classes": found["labels"][kept]}


def _to_original(picture: Tensor, resized: tuple[int, int]) -> list[float]:
    across, down = picture.shape[2] / resized[1], picture.shape[1] / resized[0]
    return [across, down, across, down]


def _heads(model: nn.Module) -> RoIHeads:
    return model.roi_heads  # type: ignore[return-value]  # torch's Module says Tensor | Module of any attribute
