"""Objects of a segment: boxes of its centre frame, pooled from an image network's and a motion network's maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.models import get_model, get_model_weights
from torchvision.ops import roi_align

from extractors import mask_rcnn
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts.detection.base import Detector
from extractors.parts.detection.coco import load_rcnn
from extractors.parts.detection.maps import RegionMap, image_map, motion_map, trunk_of
from extractors.parts.detection.object_extractor import ObjectExtractor
from pipeline.params.extract import Extract
from pipeline.weights import load_weights, status
from tests.clips import picture
from tests.extractors.awkward import LENGTHS, extracted

NETWORK = "fasterrcnn_mobilenet_v3_large_320_fpn"
EVERYTHING = ["boxes", "scores", "classes", "count", "image", "motion", "features"]
CHEAP: dict[str, Any] = {
    "image": "mobilenet_v2",
    "motion": "r3d_18",
    "short_side": 32,
    "detector_short_side": 64,
    "detector_long_side": 96,
    "proposals": 20,
    "score_threshold": 0.0,  # an untrained detector is sure of nothing
}


@pytest.fixture(scope="module")
def extractor() -> ObjectExtractor:
    return mask_rcnn.build(NETWORK, outputs=EVERYTHING, weights=None, **CHEAP)


def segment(extractor: ObjectExtractor, *numbers: int, width: int = 96, height: int = 80) -> Tensor:
    frames = [extractor.prepare(picture(number, width=width, height=height)) for number in numbers]
    return torch.stack(frames)[None]


class FixedBoxes(Detector):
    """A detector that is always sure of the same boxes."""

    preprocessing: dict = {}  # noqa: RUF012 - a test double

    def __init__(self, boxes: list[list[float]]) -> None:
        super().__init__()
        self.taps = {"boxes": (4,), "scores": (), "classes": ()}
        self.boxes = torch.tensor(boxes).reshape(-1, 4)

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:  # noqa: ARG002 - it does not look
        ones = torch.ones(len(self.boxes))
        return {"boxes": self.boxes, "scores": ones, "classes": ones}


def brightness(*, motion: bool) -> RegionMap:
    """A network whose last map is the picture itself, 32 times smaller."""
    trunk = nn.AvgPool3d((1, 32, 32)) if motion else nn.AvgPool2d(32)
    return RegionMap(trunk, mean=[0, 0, 0], std=[1, 1, 1], short_side=512, motion=motion)


@pytest.mark.parametrize("size", [(80, 96), (1, 1), (2, 1000)])
def test_shapes(extractor: ObjectExtractor, size: tuple[int, int]) -> None:
    rows = extractor(segment(extractor, 0, 1, 2, 3, width=size[1], height=size[0]))

    assert {name: tuple(rows[name].shape[1:]) for name in EVERYTHING} == extractor.outputs
    assert extractor.outputs["features"] == (10, 1280 + 512)
    assert torch.equal(rows["features"], torch.cat([rows["image"], rows["motion"]], 2))
    real = int(rows["count"][0])
    assert 0 < real <= 10
    assert rows["scores"][0].diff().le(0).all()
    assert rows["features"][0, :real].abs().amax(1).min() > 0


def test_boxes_and_image_are_of_the_centre_frame_and_motion_is_of_all(extractor: ObjectExtractor) -> None:
    rows, other_first, other_centre = (
        extractor(segment(extractor, *numbers)) for numbers in ((0, 1, 2, 3), (90, 1, 2, 3), (0, 1, 90, 3))
    )

    for name in ("boxes", "scores", "classes", "image"):
        assert torch.equal(rows[name], other_first[name]), name
    assert not torch.equal(rows["motion"], other_first["motion"])
    assert not torch.equal(rows["boxes"], other_centre["boxes"])
    assert not torch.equal(rows["image"], other_centre["image"])


@pytest.mark.parametrize("size", [(120, 200), (200, 120)])
def test_a_bright_square_is_found_under_its_box(size: tuple[int, int]) -> None:
    """It is there in one of four frames, the centre one: full brightness in the image, a quarter in the motion."""
    clip = torch.zeros(4, 3, *size, dtype=torch.uint8)
    clip[2, 0, 8:48, 70:110] = 255  # red
    inside, exchanged = [78.0, 16.0, 102.0, 40.0], [16.0, 78.0, 40.0, 102.0]
    maps = {"image": brightness(motion=False), "motion": brightness(motion=True)}
    objects = ObjectExtractor(
        FixedBoxes([inside, exchanged]), maps, outputs=["image", "motion", "count"], regions=3, device="cpu"
    )

    rows = objects(clip[None])

    assert rows["count"].tolist() == [2]
    np.testing.assert_allclose(rows["image"][0], [[1, 0, 0], [0, 0, 0], [0, 0, 0]], atol=0.1)
    np.testing.assert_allclose(rows["motion"][0], [[0.25, 0, 0], [0, 0, 0], [0, 0, 0]], atol=0.03)


def test_the_same_thing_elsewhere_has_a_like_feature_on_a_real_map() -> None:
    """Two red squares and an empty place, in whole frames of two shapes, on the trained MobileNetV2."""
    if status("mobilenet_v2") != "present":
        pytest.skip("the weights 'mobilenet_v2' are not here: framescribe weights fetch mobilenet_v2")
    network = image_map("mobilenet_v2", weights=load_weights("mobilenet_v2"), short_side=256).eval()
    red = torch.tensor([220, 20, 20], dtype=torch.uint8)[:, None, None]
    for height, width in ((120, 240), (240, 120)):
        frame = torch.full((1, 3, height, width), 128, dtype=torch.uint8)
        corners = [(10, 10), (height - 50, width - 50)]
        for top, left in corners:
            frame[0, :, top : top + 40, left : left + 40] = red
        empty = (height - 50, 10) if width > height else (10, width - 50)
        boxes = torch.tensor([[left, top, left + 40, top + 40] for top, left in (*corners, empty)]).float()

        with torch.inference_mode():
            one, other, nothing = network(frame, boxes)

        same, different = (torch.cosine_similarity(one, each, dim=0) for each in (other, nothing))
        assert same > different + 0.1


def test_a_segment_without_objects() -> None:
    objects = mask_rcnn.build(NETWORK, outputs=EVERYTHING, weights=None, **CHEAP | {"score_threshold": 0.9})

    rows = objects(torch.zeros(1, 2, 3, 80, 96, dtype=torch.uint8))

    assert rows["count"].tolist() == [0]
    assert not rows["features"].any()
    assert rows["classes"].tolist() == [[-1] * 10]
    assert {name: tuple(rows[name].shape[1:]) for name in EVERYTHING} == objects.outputs


def test_one_file_of_three_networks() -> None:
    torch.manual_seed(7)
    networks = {
        "detector": load_rcnn(NETWORK, weights=None),
        "image": get_model("mobilenet_v2", weights=None),
        "motion": get_model("r3d_18", weights=None),
    }
    bundle = {f"{name}.{key}": value for name, each in networks.items() for key, value in each.state_dict().items()}

    objects = mask_rcnn.build(NETWORK, outputs=["boxes", "image", "motion"], weights=bundle, **CHEAP)

    # Of the networks' own size: not resized, not padded
    clip = segment(objects, 0, 1, 2, 3, width=64, height=32)
    rows = objects(clip)
    with torch.inference_mode():
        image, motion = (normalised(clip[0], name) for name in ("mobilenet_v2", "r3d_18"))
        last = networks["image"].eval().features(image[2:3])[0]  # type: ignore[operator]
        moving = trunk_of(networks["motion"].eval())(motion.transpose(0, 1)[None])[0].mean(1)
    for name, maps, stride in (("image", last, 32), ("motion", moving, 16)):
        expected = roi_align(maps[None], [rows["boxes"][0] / stride], 7, sampling_ratio=2, aligned=True).mean((2, 3))
        torch.testing.assert_close(rows[name][0], expected, atol=1e-4, rtol=1e-3, msg=name)
    detector = bundle["detector.roi_heads.box_predictor.cls_score.weight"]
    assert torch.equal(objects.detector.model.roi_heads.box_predictor.cls_score.weight, detector)
    without = {key: value for key, value in bundle.items() if not key.startswith("motion.")}
    with pytest.raises(ExtractorError, match=r"no part 'motion\.'; set the option motion to 'none'"):
        mask_rcnn.build(NETWORK, outputs=["features"], weights=without, **CHEAP)
    alone = mask_rcnn.build(NETWORK, outputs=["boxes"], weights=networks["detector"].state_dict(), **CHEAP)
    assert not alone.maps  # nothing is pooled that nobody asked for
    assert torch.equal(alone.detector.model.roi_heads.box_predictor.cls_score.weight, detector)


def normalised(clip: Tensor, network: str) -> Tensor:
    published = next(iter(get_model_weights(network))).transforms()
    mean, std = torch.tensor([published.mean, published.std])[..., None, None]
    return (clip / 255 - mean) / std


def test_one_of_the_maps_may_be_left_out() -> None:
    only = mask_rcnn.build(NETWORK, outputs=["features"], weights=None, **CHEAP | {"motion": "none"})

    assert only.outputs == {"features": (10, 1280)}
    with pytest.raises(UnknownOutputError, match=r"has no output .'motion'.; it has: boxes, scores, classes, image"):
        mask_rcnn.build(NETWORK, outputs=["motion"], weights=None, **CHEAP | {"motion": "none"})
    with pytest.raises(ExtractorError, match="there is no network 'r3d_19' to pool regions from"):
        mask_rcnn.build(NETWORK, outputs=["motion"], weights=None, **CHEAP | {"motion": "r3d_19"})


def test_masks_are_not_computed() -> None:
    objects = mask_rcnn.build("maskrcnn_resnet50_fpn", outputs=["boxes"], weights=None, **CHEAP)

    assert not objects.detector.model.roi_heads.has_mask()


@pytest.mark.parametrize(("network", "channels"), [("i3d_rgb", 1024), ("ir_csn50", 2048), ("r3d_18", 512)])
def test_motion_networks(network: str, channels: int) -> None:
    """A whole frame of 48x80 pixels: maps of 32-pixel cells, averaged over time, whatever the number of frames."""
    motion = motion_map(network, weights=None, short_side=32).eval()

    with torch.inference_mode():
        pooled = motion(torch.zeros(4, 3, 48, 80, dtype=torch.uint8), torch.tensor([[0.0, 0, 80, 48], [4, 4, 9, 30]]))

    assert motion.channels == channels
    assert pooled.shape == (2, channels)


def test_clips_of_every_length_through_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    params = Extract(
        family="mask_rcnn",
        network=NETWORK,
        weights="random",
        sampling={"window": 4, "stride": 16, "tail": "pad"},
        outputs=["boxes", "features", "count"],
        options=CHEAP,
    )

    store = extracted(params, tmp_path)

    for frames in LENGTHS:
        video = store[f"clip{frames}"]
        rows = -(-frames // 16)
        assert video["features"].shape == (rows, 10, 1792)
        assert video["boxes"].shape == (rows, 10, 4)
        assert video["count"].shape == (rows,)
        assert np.isfinite(video["features"]).all()
