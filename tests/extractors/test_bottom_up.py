"""Bottom-up attention's detector: the published names, Caffe's geometry, and features of proposals."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch

from extractors import faster_rcnn
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts.detection import bottom_up, published
from extractors.parts.detection.bottom_up import BottomUp
from extractors.parts.detection.region_extractor import RegionExtractor
from pipeline.weights.safe_pickle import read_arrays
from tests.extractors.published import bottom_up_shapes, caffe_shapes

TINY = {"blocks": (1, 1, 1), "width": 8, "hidden": 16, "classes": 12, "attributes": 5}
SMALL_SIDES = {"short_side": 96, "long_side": 160}
REGRESSION = ("roi_heads.box_predictor.bbox_pred.weight", "roi_heads.box_predictor.bbox_pred.bias")
EVERYTHING = ("boxes", "features", "scores", "classes", "attributes", "attribute_scores", "count")


@pytest.fixture(scope="module")
def network() -> BottomUp:
    torch.manual_seed(0)
    return BottomUp(**TINY, **SMALL_SIDES, proposals=20).eval()  # type: ignore[arg-type]


def frame_of(height: int, width: int, *, seed: int = 0) -> torch.Tensor:
    numbers = np.random.default_rng(seed)
    return torch.from_numpy(numbers.integers(0, 256, (3, height, width), dtype=np.uint8))


def test_the_published_names_and_shapes_load_strictly() -> None:
    """Stand-ins of one number each, expanded: the real shapes without half a gigabyte of memory."""
    shapes = bottom_up_shapes(64, (3, 4, 23), 1600, 400)
    tree = {"model": {name: torch.tensor(0.5).expand(shape) for name, shape in shapes.items()}}
    with torch.device("meta"):
        network = BottomUp()

    state = faster_rcnn.map_published(tree)

    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    wanted = {name: shape for name, shape in wanted.items() if not name.endswith("num_batches_tracked")}
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == wanted
    network.load_state_dict(state, assign=True)


def test_every_published_value_arrives_where_it_belongs() -> None:
    numbers = np.random.default_rng(0)
    shapes = bottom_up_shapes(4, (1, 1, 1), 6, 3)
    tree = {name: numbers.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    network = BottomUp(blocks=(1, 1, 1), width=4, classes=6, attributes=3)
    file = pickle.dumps({"model": tree, "__author__": "someone", "matching_heuristics": True})

    network.load_state_dict(faster_rcnn.map_published(read_arrays(file, source="test.pkl")))

    state = network.state_dict()
    moved = {f"roi_heads.box_predictor.{name}" for name in published.BACKGROUND_LAST}
    for name in tree.keys() - moved - {*REGRESSION}:
        np.testing.assert_array_equal(state[name], tree[name], err_msg=name)
    for name in moved:  # the background is their last row and our first
        np.testing.assert_array_equal(state[name][0], tree[name][-1], err_msg=name)
        np.testing.assert_array_equal(state[name][1:], tree[name][:-1], err_msg=name)


def test_the_conversion_with_caffes_own_layout_gives_the_same_network() -> None:
    """Two scores an anchor, the background first, other names of the heads."""
    numbers = np.random.default_rng(0)
    theirs = {
        name: numbers.normal(size=shape).astype(np.float32) for name, shape in caffe_shapes(4, (1, 1, 1), 6, 3).items()
    }
    network = BottomUp(blocks=(1, 1, 1), width=4, classes=6, attributes=3)

    network.load_state_dict(faster_rcnn.map_published({"model": theirs}))

    state, head, rpn = network.state_dict(), "roi_heads.box_predictor", "proposal_generator.rpn_head"
    pairs = {
        "cls_score": "cls_score",
        "cls_embedding": "cls_embed",
        "fc_attr": "attr_linear1",
        "attr_score": "attr_linear2",
    }
    for ours, name in pairs.items():
        np.testing.assert_array_equal(state[f"{head}.{ours}.weight"], theirs[f"{head}.{name}.weight"], err_msg=name)
    scores = theirs[f"{rpn}.objectness_logits.weight"]
    np.testing.assert_allclose(state[f"{rpn}.objectness_logits.weight"], scores[12:] - scores[:12])
    assert torch.equal(state["anchors"], bottom_up.caffe_anchors())


def test_missing_and_foreign_names_are_refused() -> None:
    tree = {name: np.zeros(shape, np.float32) for name, shape in bottom_up_shapes(4, (1, 1, 1), 6, 3).items()}
    network = BottomUp(blocks=(1, 1, 1), width=4, classes=6, attributes=3)
    foreign = faster_rcnn.map_published(tree | {"roi_heads.mask_head.weight": np.zeros(1, np.float32)})
    missing = {name: tensor for name, tensor in faster_rcnn.map_published(tree).items() if "fc_attr" not in name}

    with pytest.raises(RuntimeError, match=r"Unexpected key.*mask_head"):
        network.load_state_dict(foreign)
    with pytest.raises(RuntimeError, match=r"Missing key.*fc_attr"):
        network.load_state_dict(missing)


def test_anchors_are_caffes() -> None:
    """x1, y1, x2, y2 of py-faster-rcnn at stride 16; its sides are 23x12, 16x16 and 11x22, times the scale."""
    centres, sides = bottom_up.caffe_anchors().split(2, 1)
    boxes = torch.cat([centres - sides / 2, centres + sides / 2 - 1], 1)  # their last pixel belongs to the box

    assert boxes[::4].tolist() == [[-38, -16, 53, 31], [-24, -24, 39, 39], [-14, -36, 29, 51]]
    assert boxes[:2].tolist() == [[-38, -16, 53, 31], [-84, -40, 99, 55]]  # ratio by ratio, as its weights are
    assert boxes[-1].tolist() == [-168, -344, 183, 359]


def test_anchors_of_the_conversion_are_detectrons() -> None:
    centres, sides = bottom_up.detectron_anchors().split(2, 1)

    assert not centres.any()
    np.testing.assert_allclose(sides[0], [64 * math.sqrt(2), 64 / math.sqrt(2)], rtol=1e-6)
    np.testing.assert_allclose(sides.prod(1), np.repeat([64, 128, 256, 512], 3) ** 2.0, rtol=1e-6)


def test_a_delta_moves_the_anchor_of_its_own_cell() -> None:
    """The head's channels are (A, 4) and its cells (h, w): a bare reshape would move another anchor of another cell."""
    head = bottom_up.RpnHead(2, 3)
    for parameter in head.parameters():
        torch.nn.init.zeros_(parameter)
    cell, anchor = (1, 2), 5
    head.anchor_deltas.forward = lambda _: one_hot_map(48, (3, 4), 4 * anchor, cell)  # type: ignore[method-assign]
    head.objectness_logits.forward = lambda _: one_hot_map(12, (3, 4), anchor, cell)  # type: ignore[method-assign]

    objectness, deltas = head(torch.zeros(1, 2, 3, 4))

    chosen = (cell[0] * 4 + cell[1]) * 12 + anchor
    assert objectness.nonzero().tolist() == [[chosen]]
    assert deltas.nonzero().tolist() == [[chosen, 0]]
    anchors = bottom_up.caffe_anchors()
    grid = bottom_up.anchor_grid(anchors, 3, 4)
    assert grid[chosen].tolist() == (anchors[anchor] + torch.tensor([2 * 16, 1 * 16, 0, 0])).tolist()
    moved = bottom_up.decode(grid, deltas)[chosen]
    width = grid[chosen, 2]
    assert moved[[0, 2]].tolist() == [grid[chosen, 0] + width * 0.5, grid[chosen, 0] + width * 1.5]


def one_hot_map(channels: int, size: tuple[int, int], channel: int, cell: tuple[int, int]) -> torch.Tensor:
    maps = torch.zeros(1, channels, *size)
    maps[0, channel, cell[0], cell[1]] = 1
    return maps


@pytest.mark.parametrize(("size", "expected"), [(112, 56), (113, 56), (37, 18), (38, 19)])
def test_the_stem_pools_from_zero_with_a_last_partial_window(size: int, expected: int) -> None:
    """Padding of 1 gives other windows, and for an odd size another number of them."""
    pooled = torch.nn.functional.max_pool2d(torch.arange(float(size)).expand(1, 1, size, size), 3, 2, ceil_mode=True)
    stem = bottom_up.Stem(1)
    stem.conv1.forward = lambda maps: maps[:, :1]  # type: ignore[method-assign]

    found = stem(torch.arange(float(size)).expand(1, 3, size, size))

    assert found.shape[-1] == expected
    assert torch.equal(found, pooled)
    assert found[0, 0, 0, :2].tolist() == [2, 4]  # windows {0, 1, 2}, {2, 3, 4}; padded ones would give 1, 3


def test_strides_are_in_the_first_convolution_and_res5_is_dilated() -> None:
    with torch.device("meta"):
        network = BottomUp()
    res3, res5 = network.get_submodule("backbone.res3.0"), network.roi_heads["res5"]

    assert (res3.conv1.stride, res3.conv2.stride, res3.shortcut.stride) == ((2, 2), (1, 1), (2, 2))  # type: ignore[union-attr]
    assert [block.conv1.stride for block in res5] == [(1, 1)] * 3  # type: ignore[union-attr]
    assert [(block.conv2.dilation, block.conv2.padding) for block in res5] == [((2, 2), (2, 2))] * 3  # type: ignore[union-attr]


def test_colours_are_blue_first_and_centred(network: BottomUp) -> None:
    """A picture of the means themselves, red last in memory, is zero everywhere."""
    seen: list[torch.Tensor] = []
    handle = network.backbone.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    picture = torch.tensor([123, 116, 103], dtype=torch.uint8)[:, None, None].expand(3, 48, 64)

    network(picture, 4)
    handle.remove()

    assert seen[0].shape == (1, 3, 96, 128)
    np.testing.assert_allclose(seen[0][0, :, 40, 40], [103 - 102.9801, 116 - 115.9465, 123 - 122.7717], atol=1e-4)


@torch.inference_mode()
def test_features_and_boxes_are_the_proposals(network: BottomUp) -> None:
    """Every feature is res5 of the 14x14 cells under exactly the box that is stored with it."""
    picture = frame_of(72, 90)
    scale = 96 / 72
    maps, _ = network._res4(picture, scale)

    found = network(picture, 8)

    assert len(found["boxes"]) == 8
    again = network._pool(maps, found["boxes"] * scale)
    torch.testing.assert_close(again, found["features"], atol=1e-4, rtol=1e-4)
    moved = network._pool(maps, found["boxes"] * scale + torch.tensor([16.0, 16, 0, 0]))
    assert (moved - found["features"]).abs().max() > 0.01


@torch.inference_mode()
def test_boxes_lie_in_the_frame_and_are_large_enough(network: BottomUp) -> None:
    for height, width in ((72, 90), (240, 320), (90, 48)):
        boxes = network(frame_of(height, width), 20)["boxes"]

        assert len(boxes)
        assert boxes.min() >= 0
        assert (boxes[:, 2:] <= torch.tensor([width, height])).all()
        scale = min(96 / min(height, width), 160 / max(height, width))
        assert ((boxes[:, 2:] - boxes[:, :2]) * scale + 1 >= 16 * scale - 1e-3).all()  # 16 original pixels


@torch.inference_mode()
@pytest.mark.parametrize("size", [(1, 1), (2, 1000), (1000, 2), (15, 15)])
def test_frames_too_small_for_any_region_have_none(network: BottomUp, size: tuple[int, int]) -> None:
    extractor = RegionExtractor(network, outputs=EVERYTHING, regions=16, device="cpu")

    rows = extractor(frame_of(*size)[None])

    assert rows["count"].tolist() == [0]
    assert {name: tuple(rows[name].shape[1:]) for name in EVERYTHING} == extractor.outputs
    assert not rows["features"].any()
    assert (rows["classes"] == -1).all()


@torch.inference_mode()
def test_a_blank_frame_still_has_proposals(network: BottomUp) -> None:
    rows = network(torch.zeros(3, 72, 96, dtype=torch.uint8), 16)

    assert 0 < len(rows["boxes"]) <= 16
    assert torch.isfinite(rows["features"]).all()


def test_folded_normalisation_changes_nothing_but_the_last_digits() -> None:
    torch.manual_seed(1)
    network = BottomUp(**TINY, **SMALL_SIDES, proposals=20).eval()  # type: ignore[arg-type]
    for each in network.modules():  # statistics of their own, so that a norm left out or applied twice is seen
        if isinstance(each, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(each.running_mean, -0.5, 0.5)  # type: ignore[arg-type]
            torch.nn.init.uniform_(each.running_var, 0.5, 2)  # type: ignore[arg-type]
            torch.nn.init.uniform_(each.weight, 0.5, 1.5)
    with torch.inference_mode():
        plain = network(frame_of(72, 90), 8)
        folded = network.fold()(frame_of(72, 90), 8)

    assert not any(isinstance(each, torch.nn.BatchNorm2d) for each in network.modules())
    for name, values in plain.items():
        torch.testing.assert_close(folded[name], values, atol=1e-3, rtol=1e-4, msg=name)


def test_many_regions_go_through_res5_in_parts(network: BottomUp, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = frame_of(72, 90)
    with torch.inference_mode():
        at_once = network(picture, 16)
        monkeypatch.setattr(bottom_up, "REGIONS_AT_ONCE", 3)
        in_parts = network(picture, 16)

    for name, values in at_once.items():
        torch.testing.assert_close(in_parts[name], values, msg=name)


def test_unknown_names_are_refused_with_the_known() -> None:
    with pytest.raises(ExtractorError, match="bottom_up_r50, bottom_up_r101, bottom_up_r152 and torchvision:NAME"):
        faster_rcnn.build("bottom_up_r18", outputs=["features"], weights=None)
    with pytest.raises(ExtractorError, match="'resnet50' is no R-CNN of torchvision; it has: fasterrcnn_mobilenet"):
        faster_rcnn.build("torchvision:resnet50", outputs=["features"], weights=None)
    with pytest.raises(UnknownOutputError, match=r"has no output .'pool'.; it has: boxes, features, scores"):
        faster_rcnn.build("torchvision:fasterrcnn_mobilenet_v3_large_320_fpn", outputs=["pool"], weights=None)
