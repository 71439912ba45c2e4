"""Detectors of detectron2's model zoo, for those who have built it: the chosen proposals and their features.

`network` is a configuration of the zoo without its ending, such as `COCO-Detection/faster_rcnn_R_101_FPN_3x` (1024
features per proposal) or `COCO-Detection/faster_rcnn_R_101_C4_3x` (2048). Outputs and padding are
those of `faster_rcnn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from extractors.base import RANDOM_SEED, Takes, require_outputs
from extractors.parts.detection.region_extractor import RegionExtractor
from extractors.parts.detection.selection import best_regions, stacked_shapes
from extractors.parts.detection.zoo import ZooDetector, open_zoo

VERSION = 1
TAKES: Takes = "frames"
COMPUTED, ANCHORS = ("pixel_mean", "pixel_std", "num_batches_tracked"), "cell_anchors."


class DetectronRegions(ZooDetector):
    """detectron2's own steps, stopped before the boxes are regressed."""

    def __init__(self, model: Any, **how: Any) -> None:
        super().__init__(model, **how)
        channels = model.roi_heads.box_predictor.cls_score.in_features
        self.taps = {"boxes": (4,), "features": (channels,), "scores": (), "classes": ()}

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        resized = self.resized(picture)
        images = self.model.preprocess_image([{"image": resized}])
        maps = self.model.backbone(images.tensor)
        proposals, _ = self.model.proposal_generator(images, maps, None)
        features = self._features(maps, [proposals[0].proposal_boxes])
        logits, _regression = self.model.roi_heads.box_predictor(features)
        across, down = picture.shape[2] / resized.shape[2], picture.shape[1] / resized.shape[1]
        boxes = proposals[0].proposal_boxes.tensor * features.new_tensor([across, down, across, down])
        scores = logits.softmax(1)[:, :-1]  # the background is the last class
        kept, best = best_regions(boxes, scores, count=regions)
        return {"boxes": boxes[kept], "features": features[kept], "scores": best, "classes": scores[kept].argmax(1)}

    def _features(self, maps: Mapping[str, Tensor], boxes: list[Any]) -> Tensor:
        """(R, D): fc7 of a feature pyramid, or res5 of the fourth stage, averaged."""
        heads = self.model.roi_heads
        if hasattr(heads, "box_pooler"):
            return heads.box_head(heads.box_pooler([maps[name] for name in heads.box_in_features], boxes))
        return heads._shared_roi_transform([maps[name] for name in heads.in_features], boxes).mean((2, 3))


def map_published(tree: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state of the zoo's file, which is arrays by detectron2's own names; what its network computes is left out."""
    arrays = {
        name: array for name, array in tree["model"].items() if not name.endswith(COMPUTED) and ANCHORS not in name
    }
    return {name: torch.as_tensor(array) for name, array in arrays.items()}


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    device: str = "cpu",
    regions: int = 16,
) -> RegionExtractor:
    torch.manual_seed(RANDOM_SEED)
    detector = open_zoo(DetectronRegions, network, weights=weights, given={})
    require_outputs(outputs, known=[*stacked_shapes(detector.taps, regions=regions)], network=network)
    return RegionExtractor(detector, outputs=outputs, regions=regions, device=device)
