"""Regions of torchvision's detectors: of proposals, not of regressed boxes; and the real path from clip to rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision.models import WeightsEnum, get_model, get_model_weights

from extractors import faster_rcnn
from extractors.base import ExtractorError
from extractors.parts.detection.coco import load_rcnn
from extractors.parts.detection.region_extractor import RegionExtractor
from pipeline.params.extract import Extract
from tests.clips import picture
from tests.extractors.awkward import LENGTHS, extracted

NETWORK = "fasterrcnn_mobilenet_v3_large_320_fpn"
OUTPUTS = ["boxes", "features", "scores", "classes", "count"]
CHEAP = {"short_side": 64, "long_side": 96, "proposals": 30}


@pytest.fixture(scope="module")
def extractor() -> RegionExtractor:
    return faster_rcnn.build(f"torchvision:{NETWORK}", outputs=OUTPUTS, weights=None, regions=6, **CHEAP)


def rows_of(extractor: RegionExtractor, *frames: np.ndarray) -> dict[str, torch.Tensor]:
    return extractor(torch.stack([extractor.prepare(frame) for frame in frames]))


@pytest.mark.parametrize("size", [(80, 96), (1, 1), (2, 1000), (1000, 2), (1, 5000)])
def test_shapes_and_order(extractor: RegionExtractor, size: tuple[int, int]) -> None:
    rows = rows_of(extractor, picture(0, width=size[1], height=size[0]))

    assert {name: tuple(rows[name].shape[1:]) for name in OUTPUTS} == extractor.outputs
    assert extractor.outputs == {"boxes": (6, 4), "features": (6, 1024), "scores": (6,), "classes": (6,), "count": ()}
    real = int(rows["count"][0])
    assert 0 < real <= 6
    assert rows["scores"][0, :real].diff().le(0).all()
    boxes = rows["boxes"][0, :real]
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert boxes.min() >= 0
    assert (boxes[:, 2:] <= torch.tensor([size[1], size[0]]) + 1e-3).all()


def test_a_frame_does_not_depend_on_its_neighbours(extractor: RegionExtractor) -> None:
    frames = [picture(number, width=96, height=80) for number in (0, 9)]

    together, alone = rows_of(extractor, *frames), [rows_of(extractor, frame) for frame in frames]

    for name in OUTPUTS:
        assert torch.equal(together[name], torch.cat([rows[name] for rows in alone])), name
    assert not torch.equal(alone[0]["features"], alone[1]["features"])


def test_moving_the_regressed_boxes_changes_nothing() -> None:
    """A detector whose regression throws every box far to the right: its own detections move, the regions do not."""
    torch.manual_seed(0)
    model = load_rcnn(NETWORK, weights=None, short_side=64, long_side=96, box_score_thresh=0.0)
    frame = torch.from_numpy(picture(3, width=96, height=80)).permute(2, 0, 1)
    before, detected = regions_and_detections(model, frame)
    with torch.no_grad():
        model.roi_heads.box_predictor.bbox_pred.bias += torch.tensor([8.0, 0, 0, 0]).repeat(91)

    after, moved = regions_and_detections(model, frame)

    for name in OUTPUTS:
        assert torch.equal(before[name], after[name]), name
    assert not torch.equal(detected, moved)
    assert not any(torch.allclose(box, other) for box in before["boxes"][0] for other in moved)


def regions_and_detections(model: torch.nn.Module, frame: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    regions = RegionExtractor(faster_rcnn.Proposals(model), outputs=OUTPUTS, regions=6, device="cpu")(frame[None])
    with torch.inference_mode():
        return regions, model([frame.float() / 255])[0]["boxes"][:6]


@torch.inference_mode()
def test_features_are_those_of_the_boxes(extractor: RegionExtractor) -> None:
    """fc7 of the stored boxes, pooled again: a permuted or regressed box would have another feature."""
    frame = extractor.prepare(picture(5, width=96, height=80))
    rows = extractor(frame[None])
    model = extractor.detector.model
    images, _ = model.transform([frame.float() / 255])
    height, width = images.image_sizes[0]
    boxes = rows["boxes"][0] * torch.tensor([width / 96, height / 80]).repeat(2)

    pooled = model.roi_heads.box_roi_pool(model.backbone(images.tensors), [boxes], images.image_sizes)

    torch.testing.assert_close(model.roi_heads.box_head(pooled), rows["features"][0], atol=1e-3, rtol=1e-3)


def test_the_published_state_of_torchvision_loads_strictly() -> None:
    state = load_rcnn(NETWORK, weights=None).state_dict()
    built = faster_rcnn.build(f"torchvision:{NETWORK}", outputs=["features"], weights=state, **CHEAP)

    for name, tensor in built.detector.model.state_dict().items():
        assert torch.equal(tensor, state[name]), name
    with pytest.raises(ExtractorError, match="Missing key"):
        faster_rcnn.build(f"torchvision:{NETWORK}", outputs=["features"], weights={}, **CHEAP)


@pytest.mark.parametrize("name", ["fasterrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn", "fasterrcnn_resnet50_fpn_v2"])
def test_a_trained_detector_is_torchvisions_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """torchvision's loader changes more than the weights: the eps of the older files is 0."""
    state = get_model(name, weights=None, weights_backbone=None).state_dict()
    variances = [key for key in state if key.startswith("backbone.body.") and key.endswith("running_var")]
    state |= {key: torch.full_like(state[key], 1e-4) for key in variances}  # so small that eps matters
    monkeypatch.setattr(WeightsEnum, "get_state_dict", lambda *_, **__: state)
    theirs = get_model(name, weights=next(iter(get_model_weights(name)))).eval().backbone.body
    ours = load_rcnn(name, weights=state).eval().backbone.body
    picture = torch.randn(1, 3, 64, 64)

    with torch.inference_mode():
        found, expected = ours(picture)["0"], theirs(picture)["0"]

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_clips_of_every_length_through_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampled as in G2L, the middle of three: frames 5, 20, 35, ...; a video that ends before has its last frame."""
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    params = Extract(
        family="faster_rcnn",
        network=f"torchvision:{NETWORK}",
        weights="random",
        sampling={"every": 15, "offset": 5},
        outputs=OUTPUTS,
        options={**CHEAP, "regions": 6},
    )

    store = extracted(params, tmp_path)

    for frames in LENGTHS:
        video = store[f"clip{frames}"]
        rows = max(1, -(-(frames - 5) // 15))
        assert video["features"].shape == (rows, 6, 1024)
        assert video["boxes"].shape == (rows, 6, 4)
        assert video["count"].shape == (rows,)
        assert np.isfinite(video["features"]).all()
