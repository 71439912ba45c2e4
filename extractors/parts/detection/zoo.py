"""Detectors of detectron2's model zoo: opened by the name of their configuration, and their plain detections (COCO)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from extractors.base import ExtractorError, load_weights
from extractors.parts.detection.base import Detector
from extractors.parts.detection.coco import best_within, coco_ids
from extractors.parts.detection.geometry import thicken

DETECTING = ("COCO-Detection/faster_rcnn_", "COCO-InstanceSegmentation/mask_rcnn_")


class ZooDetector(Detector):
    """A model of the zoo, and detectron2's own resizing before it."""

    def __init__(
        self, model: Any, *, resize: Callable[[np.ndarray], np.ndarray], preprocessing: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.model, self.resize, self.preprocessing = model, resize, preprocessing

    def resized(self, picture: Tensor) -> Tensor:
        """(3, h, w) uint8, blue first."""
        frame = self.resize(picture.flip(0).permute(1, 2, 0).cpu().numpy())
        return torch.as_tensor(frame.copy()).permute(2, 0, 1)


Opened = TypeVar("Opened", bound=ZooDetector)


class ZooDetections(ZooDetector):
    """What detectron2 itself answers, with COCO's numbers of the classes instead of its own 0 to 79."""

    def __init__(self, model: Any, **how: Any) -> None:
        super().__init__(model, **how)
        model.roi_heads.mask_on = False  # masks are not needed
        self.register_buffer("ids", torch.tensor(coco_ids()), persistent=False)
        self.taps = {"boxes": (4,), "scores": (), "classes": ()}

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        whole = thicken(picture)
        asked = {"image": self.resized(whole), "height": whole.shape[1], "width": whole.shape[2]}
        found = self.model([asked])[0]["instances"]
        labels = self.get_buffer("ids")[found.pred_classes]
        return best_within(picture, found.pred_boxes.tensor, found.scores, labels, count=regions)


def open_detections(
    network: str,
    *,
    weights: Mapping[str, Tensor] | None,
    score_threshold: float,
    short_side: int | None = None,
    long_side: int | None = None,
    proposals: int | None = None,
) -> ZooDetections:
    """Sides and a number of proposals that are not given are the configuration's own."""
    if not network.startswith(DETECTING):
        raise ExtractorError(f"'{network}' is no R-CNN of detectron2 with COCO's classes: {'..., '.join(DETECTING)}...")
    own = {
        "INPUT.MIN_SIZE_TEST": short_side,
        "INPUT.MAX_SIZE_TEST": long_side,
        "MODEL.RPN.POST_NMS_TOPK_TEST": proposals,
        "MODEL.ROI_HEADS.SCORE_THRESH_TEST": float(score_threshold),
    }
    given = {name: value for name, value in own.items() if value is not None}
    return open_zoo(ZooDetections, network, weights=weights, given=given)


def open_zoo(
    kind: type[Opened], network: str, *, weights: Mapping[str, Tensor] | None, given: Mapping[str, Any]
) -> Opened:
    """Imported by name: the package is on no registry, so nothing here may depend on it."""
    try:
        package = importlib.import_module("detectron2")
        zoo = importlib.import_module("detectron2.model_zoo")
        modeling = importlib.import_module("detectron2.modeling")
        transforms = importlib.import_module("detectron2.data.transforms")
    except ImportError as error:
        raise ExtractorError(
            f"'{network}' needs detectron2, which has to be built from its sources ({error}); "
            "the families faster_rcnn and mask_rcnn need nothing for torchvision's networks"
        ) from error
    settings = zoo.get_config(f"{network}.yaml")
    settings.merge_from_list([each for pair in given.items() for each in pair])
    settings.MODEL.DEVICE = "cpu"  # the extractor moves it
    model = modeling.build_model(settings)
    if weights is not None:
        load_weights(model, weights, network=network)
    sides = settings.INPUT.MIN_SIZE_TEST, settings.INPUT.MAX_SIZE_TEST
    shortest = transforms.ResizeShortestEdge([sides[0], sides[0]], sides[1])
    return kind(
        model,
        resize=lambda frame: shortest.get_transform(frame).apply_image(frame),
        preprocessing=_describe(settings, sides, version=package.__version__),
    )


def _describe(settings: Any, sides: tuple[int, int], *, version: str) -> dict[str, Any]:
    return {
        "resize_short_side": sides[0],
        "largest_long_side": sides[1],
        "resize_library": f"detectron2 {version} (PIL)",
        "scale": "0..255",
        "mean": list(settings.MODEL.PIXEL_MEAN),
        "std": list(settings.MODEL.PIXEL_STD),
        "channels": settings.INPUT.FORMAT,
    }
