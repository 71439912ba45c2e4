"""YOLOv4-tiny against OpenCV's own reading of the same darknet file, and objects of a segment by it."""

from __future__ import annotations

from pathlib import Path

import decord
import numpy as np
import pytest
import torch
from torch import Tensor
from torchvision.models.detection import FasterRCNN_ResNet50_FPN_Weights

from extractors import yolo
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts.detection.coco import coco_ids
from extractors.parts.detection.yolov4 import SIDE, Yolo, Yolov4Tiny, decoded, map_published
from pipeline.weights import load_weights, status
from pipeline.weights.reading import read_published
from tests.clips import picture
from tests.extractors.darknet import drawn_file

# OpenCV 4.10 (readNetFromDarknet, 64 x 64 pixels) on the file of tests/extractors/darknet.py and default_rng(1).random
PLACES = [0, 17, 300, 1000, -1]
COARSE = [0.43565714, -0.80877364, -0.37139514, -0.37507200, 0.01317901]
FINE = [0.25622678, 0.60259473, -0.69173771, -0.15683912, -0.26463938]
LARGEST = 3.94
FIRST_BOX = [0.30629247, 0.37976897, 1.76019883 * 64 / SIDE, 1.90872943 * 64 / SIDE]  # centre and size
FIRST_SCORE = 0.27634114
VIDEOS = Path(__file__).parents[3] / "shared" / "data" / "videos"


@pytest.fixture(scope="module")
def network() -> Yolov4Tiny:
    made = Yolov4Tiny()
    made.load_state_dict(map_published(read_published(drawn_file(), layout="darknet", source="drawn.weights")))
    return made.eval()


@pytest.fixture(scope="module")
def heads(network: Yolov4Tiny) -> dict[str, Tensor]:
    pictures = np.random.default_rng(1).random((1, 3, 64, 64), dtype=np.float32)
    with torch.inference_mode():
        return network(torch.from_numpy(pictures))


def test_every_number_of_the_file_is_in_its_place(heads: dict[str, Tensor]) -> None:
    """Within what the constant of the normalisation makes: 1e-5 in darknet, 1e-6 in OpenCV."""
    assert {name: tuple(head.shape) for name, head in heads.items()} == {
        "coarse": (1, 255, 2, 2),
        "fine": (1, 255, 4, 4),
    }
    for name, expected in {"coarse": COARSE, "fine": FINE}.items():
        np.testing.assert_allclose(heads[name].flatten()[PLACES], expected, atol=1e-4 * LARGEST)


def test_boxes_and_scores_are_decoded_as_opencv_does(heads: dict[str, Tensor]) -> None:
    boxes, scores = decoded(heads)

    assert boxes.shape == (3 * (2 * 2 + 4 * 4), 4)
    centre, size = (boxes[0, :2] + boxes[0, 2:]) / 2, boxes[0, 2:] - boxes[0, :2]
    np.testing.assert_allclose([*centre, *size], FIRST_BOX, rtol=3e-4)
    np.testing.assert_allclose(scores[0, 0], FIRST_SCORE, rtol=3e-4)


def test_classes_are_cocos_numbers() -> None:
    names = FasterRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]
    ids = coco_ids()

    assert len(ids) == 80
    assert [names[ids[place]] for place in (0, 5, 7, 27, 36, 79)] == [
        "person",
        "bus",
        "truck",
        "tie",
        "skateboard",
        "toothbrush",
    ]


def test_a_detector_keeps_the_best_box_of_each_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two boxes of a class that overlap the better stays; another class at the same place stays too."""
    boxes = torch.tensor([[0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.5, 0.52], [0.1, 0.1, 0.5, 0.5], [0.9, 0.9, 1.4, 1.2]])
    scores = torch.zeros(4, 80)
    scores[[0, 1, 2, 3], [0, 0, 5, 7]] = torch.tensor([0.6, 0.9, 0.5, 0.04])
    monkeypatch.setattr("extractors.parts.detection.yolov4.decoded", lambda _: (boxes, scores))
    frame = torch.from_numpy(picture(0, width=200, height=100)).permute(2, 0, 1)

    sure, unsure, one = (
        Yolo(Yolov4Tiny(), score_threshold=threshold)(frame, regions)
        for threshold, regions in ((0.05, 10), (0.01, 10), (0.05, 1))
    )

    assert sure["classes"].tolist() == [1, 6]  # person, bus
    np.testing.assert_allclose(sure["boxes"], [[20, 10, 100, 52], [20, 10, 100, 50]])
    np.testing.assert_allclose(sure["scores"], [0.9, 0.5])
    np.testing.assert_allclose(unsure["boxes"][2], [180, 90, 200, 100])  # clipped to the frame
    assert one["classes"].tolist() == [1]


@pytest.mark.parametrize("size", [(48, 64), (1, 1), (2, 500)])
def test_shapes_of_any_frame(size: tuple[int, int]) -> None:
    options = {"image": "mobilenet_v2", "motion": "none", "short_side": 32, "score_threshold": 0.0}
    made = yolo.build("yolov4_tiny", outputs=["features", "boxes", "count"], weights=None, regions=3, **options)

    rows = made(torch.stack([made.prepare(picture(number, width=size[1], height=size[0])) for number in (0, 1)])[None])

    assert {name: tuple(each.shape) for name, each in rows.items()} == {
        "features": (1, 3, 1280),
        "boxes": (1, 3, 4),
        "count": (1,),
    }
    assert rows["boxes"].amax() <= max(size)


def test_what_it_does_not_know_is_told() -> None:
    with pytest.raises(ExtractorError, match="there is no network 'yolov9'; the family has: yolov4_tiny"):
        yolo.build("yolov9", outputs=["boxes"], weights=None)
    with pytest.raises(UnknownOutputError, match="motion"):
        yolo.build("yolov4_tiny", outputs=["motion"], weights=None, motion="none")


@pytest.mark.skipif(not VIDEOS.is_dir(), reason="the real clips are not here")
@pytest.mark.skipif(status("yolov4_tiny") != "present", reason="needs: framescribe weights fetch yolov4_tiny")
def test_who_juggles_is_found() -> None:
    trained = Yolov4Tiny()
    trained.load_state_dict(load_weights("yolov4_tiny"))
    detector = Yolo(trained, score_threshold=0.5)
    reader = decord.VideoReader(str(VIDEOS / "tv_v_SoccerJuggling_g23_c01.avi"))
    frame = torch.from_numpy(reader[len(reader) // 2].asnumpy()).permute(2, 0, 1)

    with torch.inference_mode():
        found = detector(frame, 10)

    assert found["classes"].tolist() == [1]  # one person
    left, top, right, bottom = found["boxes"][0].tolist()
    assert 110 < left < right < 190
    assert 40 < top < bottom < 190
