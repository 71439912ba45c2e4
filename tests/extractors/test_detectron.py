"""The detectron2 adapter: its calls on a stand-in that has detectron2's names; the real one where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.ops import roi_align

from extractors import detectron
from extractors.base import ExtractorError
from extractors.detectron import DetectronRegions
from extractors.faster_rcnn import RegionExtractor
from tests.clips import picture

HAS_DETECTRON = find_spec("detectron2") is not None
OUTPUTS = ["boxes", "features", "scores", "classes", "count"]
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


@pytest.mark.skipif(not HAS_DETECTRON, reason="detectron2 is on no registry; build it from its sources to run this")
@pytest.mark.parametrize(("network", "channels"), [("faster_rcnn_R_50_FPN_3x", 1024), ("faster_rcnn_R_50_C4_3x", 2048)])
def test_the_real_one(network: str, channels: int) -> None:
    extractor = detectron.build(f"COCO-Detection/{network}", outputs=OUTPUTS, weights=None, regions=5)

    rows = extractor(extractor.prepare(picture(0, width=96, height=80))[None])

    assert extractor.outputs["features"] == (5, channels)
    assert {name: tuple(rows[name].shape[1:]) for name in OUTPUTS} == extractor.outputs
