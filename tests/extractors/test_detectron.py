"""The detectron2 adapter: its calls on a stand-in that has detectron2's names; the real one where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.ops import roi_align

from extractors import detectron, mask_rcnn
from extractors.base import ExtractorError
from extractors.detectron import DetectronRegions
from extractors.parts.detection.object_extractor import ObjectExtractor
from extractors.parts.detection.region_extractor import RegionExtractor
from extractors.parts.detection.zoo import ZooDetections
from tests.clips import picture

HAS_DETECTRON = find_spec("detectron2") is not None
OUTPUTS = ["boxes", "features", "scores", "classes", "count"]
FOUND = ["boxes", "scores", "classes", "count"]
MASKS = "detectron2:COCO-InstanceSegmentation/mask_rcnn_R_50_FPN_3x"
PROPOSALS = torch.tensor([[0.0, 0, 40, 40], [60, 10, 120, 90], [10, 50, 30, 90]])  # in a picture twice as large


class Predictor(nn.Module):
    """Three classes and the background, which is the last; the regression throws boxes away."""

    def __init__(self) -> None:
        super().__init__()
        self.cls_score = nn.Linear(3, 4)
        nn.init.zeros_(self.cls_score.bias)
        with torch.no_grad():
            self.cls_score.weight.copy_(torch.tensor([[0.0, 0, 0], [2, 1, 0], [0, 0, 0], [5, 5, 5]]) / 255)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.cls_score(features), torch.full((len(features), 12), 99.0)


def stand_in(*, pyramid: bool) -> SimpleNamespace:
    """The backbone hands on the picture; features are colours."""

    def crop(maps: list[Tensor], boxes: list[SimpleNamespace]) -> Tensor:
        return roi_align(maps[0], [boxes[0].tensor], 7, aligned=True)

    heads = SimpleNamespace(box_predictor=Predictor())
    if pyramid:
        heads.box_in_features, heads.box_pooler, heads.box_head = ["p"], crop, lambda cells: cells.mean((2, 3))
    else:
        heads.in_features, heads._shared_roi_transform = ["p"], crop
    found = [SimpleNamespace(proposal_boxes=SimpleNamespace(tensor=PROPOSALS))]
    return SimpleNamespace(
        preprocess_image=lambda inputs: SimpleNamespace(tensor=inputs[0]["image"][None].float()),
        backbone=lambda pictures: {"p": pictures},
        proposal_generator=lambda images, maps, targets: (found, {}),  # noqa: ARG005 - detectron2's signature
        roi_heads=heads,
    )


@pytest.mark.parametrize("pyramid", [True, False])
def test_boxes_and_features_are_those_of_the_proposals(pyramid: bool) -> None:
    detector = DetectronRegions(
        stand_in(pyramid=pyramid), resize=lambda frame: frame.repeat(2, 0).repeat(2, 1), preprocessing={}
    )
    extractor = RegionExtractor(detector, outputs=OUTPUTS, regions=4, device="cpu")
    frame = np.zeros((50, 70, 3), np.uint8)
    frame[5:45, 30:60] = (200, 100, 50)  # under the second proposal, at half its size

    rows = extractor(extractor.prepare(frame)[None])

    assert rows["count"].tolist() == [3]
    assert sorted(rows["boxes"][0, :3].tolist()) == sorted((PROPOSALS / 2).tolist())
    where = rows["boxes"][0].tolist().index((PROPOSALS[1] / 2).tolist())
    np.testing.assert_allclose(rows["features"][0, where], [50, 100, 200], atol=1)  # blue first
    assert rows["classes"][0, where] == 1  # never the background, likely as it is
    assert rows["scores"][0, :3].diff().le(0).all()


class Answers:
    """Detections of a model of the zoo, in the size that it is asked for; they are where its input is blue."""

    def __init__(self) -> None:
        self.roi_heads = SimpleNamespace(mask_on=True)

    def __call__(self, inputs: list[dict]) -> list[dict]:
        image, height, width = inputs[0]["image"], inputs[0]["height"], inputs[0]["width"]
        rows, columns = torch.nonzero(image[0] > 128, as_tuple=True)
        edges = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        scale = torch.tensor([width / image.shape[2], height / image.shape[1]]).repeat(2)
        boxes = torch.stack([torch.tensor([0.0, 0, width, height]), torch.tensor(edges) * scale])
        found = {"pred_boxes": SimpleNamespace(tensor=boxes), "scores": torch.tensor([0.3, 0.9])}
        return [{"instances": SimpleNamespace(**found, pred_classes=torch.tensor([79, 0]))}]


@pytest.mark.parametrize("size", [(50, 70), (2, 200)])
def test_detections_are_in_the_frames_own_pixels_with_cocos_numbers(size: tuple[int, int]) -> None:
    model = Answers()
    detector = ZooDetections(model, resize=lambda frame: frame.repeat(3, 0).repeat(2, 1), preprocessing={})
    objects = ObjectExtractor(detector, {}, outputs=FOUND, regions=3, device="cpu")
    frame = np.zeros((*size, 3), np.uint8)
    frame[1:2, 30:60] = (0, 0, 200)  # blue, in RGB

    rows = objects(objects.prepare(frame)[None, None])

    assert rows["count"].tolist() == [2]
    assert rows["boxes"][0, :2].tolist() == [[30, 1, 60, 2], [0, 0, size[1], size[0]]]  # the best first
    assert rows["classes"].tolist() == [[1, 90, -1]]  # person, toothbrush, padding
    assert not model.roi_heads.mask_on


def test_a_network_whose_classes_are_not_cocos_is_refused() -> None:
    with pytest.raises(ExtractorError, match=r"'LVISv0.5.*' is no R-CNN of detectron2 with COCO's classes"):
        mask_rcnn.build("detectron2:LVISv0.5-InstanceSegmentation/mask_rcnn_R_50_FPN_1x", outputs=FOUND, weights=None)


def test_the_zoos_file_is_mapped_without_what_is_computed() -> None:
    kept = {"backbone.bottom_up.stem.conv1.weight": np.ones((64, 3, 7, 7), np.float32)}
    anchors = {f"proposal_generator.anchor_generator.cell_anchors.{level}": np.ones((3, 4)) for level in range(5)}

    mapped = detectron.map_published({"model": {**kept, **anchors, "pixel_mean": np.ones(3)}, "__author__": "zoo"})

    assert {name: tuple(tensor.shape) for name, tensor in mapped.items()} == {
        "backbone.bottom_up.stem.conv1.weight": (64, 3, 7, 7)
    }


@pytest.mark.skipif(HAS_DETECTRON, reason="detectron2 is installed")
def test_without_the_package_the_error_says_what_to_do() -> None:
    with pytest.raises(ExtractorError, match=r"needs detectron2, .* the families faster_rcnn and mask_rcnn"):
        detectron.build("COCO-Detection/faster_rcnn_R_50_FPN_3x", outputs=OUTPUTS, weights=None)
    with pytest.raises(ExtractorError, match=r"needs detectron2, .* torchvision's networks"):
        mask_rcnn.build(MASKS, outputs=FOUND, weights=None)


needs_detectron = pytest.mark.skipif(
    not HAS_DETECTRON, reason="detectron2 is on no registry; build it from its sources to run this"
)


@needs_detectron
@pytest.mark.parametrize(("network", "channels"), [("faster_rcnn_R_50_FPN_3x", 1024), ("faster_rcnn_R_50_C4_3x", 2048)])
def test_the_real_one(network: str, channels: int) -> None:
    extractor = detectron.build(f"COCO-Detection/{network}", outputs=OUTPUTS, weights=None, regions=5)

    rows = extractor(extractor.prepare(picture(0, width=96, height=80))[None])

    assert extractor.outputs["features"] == (5, channels)
    assert {name: tuple(rows[name].shape[1:]) for name in OUTPUTS} == extractor.outputs


@needs_detectron
@pytest.mark.parametrize("network", [MASKS, "detectron2:COCO-Detection/faster_rcnn_R_50_FPN_3x"])
def test_objects_of_the_real_one(network: str) -> None:
    sizes = {"detector_short_side": 64, "detector_long_side": 96, "proposals": 20, "short_side": 32}
    how = {"image": "mobilenet_v2", "motion": "none", "score_threshold": 0, **sizes}
    extractor = mask_rcnn.build(network, outputs=[*FOUND, "features"], weights=None, **how)
    frame = extractor.prepare(picture(0, width=96, height=80))

    rows = extractor(frame[None, None])

    assert {name: tuple(rows[name].shape[1:]) for name in rows} == extractor.outputs
    real = int(rows["count"][0])
    assert real > 0
    assert rows["scores"][0].diff().le(0).all()
    assert rows["boxes"][0].ge(0).all()
    assert rows["boxes"][0].le(torch.tensor([96, 80, 96, 80])).all()
    assert rows["classes"][0, :real].ge(1).all()
    assert rows["features"][0, :real].abs().amax(1).min() > 0
    state = extractor.detector.model.state_dict()
    loaded = mask_rcnn.build(network, outputs=FOUND, weights=state, **how)
    assert torch.equal(loaded(frame[None, None])["boxes"], rows["boxes"])
