"""The contract on networks that are quick to build; test_cards.py holds every card of the catalogue to its own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import get_model_weights

from extractors import clips, csn, faster_rcnn, flow, frames, i3d, i3d_flow, mask_rcnn, resnext3d, soundnet, yolo
from extractors.base import ExtractorError, UnknownOutputError

# (family, network, output, shape of a row)
ENTRIES = [
    (frames, "mobilenet_v2", "pool", (1280,)),
    (frames, "mobilenet_v2", "grid", (7, 7, 1280)),
    (frames, "resnet18", "pool", (512,)),
    (frames, "resnet18", "grid", (7, 7, 512)),
    (frames, "efficientnet_b0", "pool", (1280,)),
]


def pictures(count: int, *, height: int = 60, width: int = 80) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=(count, height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(("family", "network", "output", "shape"), ENTRIES)
def test_declared_shapes_come_out(family, network: str, output: str, shape: tuple[int, ...]) -> None:
    extractor = family.build(network, outputs=[output], weights=None)
    batch = torch.stack([extractor.prepare(picture) for picture in pictures(3)])

    rows = extractor(batch)

    assert extractor.outputs == {output: shape}
    assert rows[output].shape == (3, *shape)
    assert rows[output].dtype == torch.float32
    torch.testing.assert_close(extractor(batch[1:2])[output], rows[output][1:2], rtol=1e-4, atol=1e-5)


def test_pool_is_the_mean_of_the_grid_and_the_classifiers_input() -> None:
    extractor = frames.build("resnet18", outputs=["pool", "grid"], weights=None)
    batch = torch.stack([extractor.prepare(picture) for picture in pictures(2)])
    rows = extractor(batch)

    torch.testing.assert_close(rows["grid"].mean((1, 2)), rows["pool"], rtol=1e-4, atol=1e-5)


def test_preprocessing_equals_the_published_transform_of_a_picture() -> None:
    """Frames go through torch's resize; the published transform of a PIL image differs by at most one grey level."""
    extractor = frames.build("mobilenet_v2", outputs=["pool"], weights=None)
    picture = pictures(1, height=300, width=400)[0]
    published = next(iter(get_model_weights("mobilenet_v2"))).transforms()(Image.fromarray(picture))

    level = 1 / 255 / 0.224  # one grey level after normalisation, at the smallest standard deviation
    assert float((extractor.prepare(picture) - published).abs().max()) <= 1.01 * level


def test_untrained_networks_are_the_same_everywhere() -> None:
    first = frames.build("resnet18", outputs=["pool"], weights=None)
    torch.manual_seed(99)
    second = frames.build("resnet18", outputs=["pool"], weights=None)
    batch = torch.stack([first.prepare(picture) for picture in pictures(1)])

    torch.testing.assert_close(first(batch), second(batch), rtol=0, atol=0)


def test_an_unknown_output_lists_the_known() -> None:
    with pytest.raises(UnknownOutputError, match=r"resnet18 has no output \['fc9'\]; it has: pool, grid, layer1"):
        frames.build("resnet18", outputs=["fc9"], weights=None)


@pytest.mark.parametrize(
    ("family", "network", "output", "options"),
    [
        (clips, "torchvision:r3d_18", "pool", {}),
        (csn, "ir_csn50", "pool", {}),
        (faster_rcnn, "bottom_up_r50", "features", {}),
        (faster_rcnn, "torchvision:fasterrcnn_mobilenet_v3_large_fpn", "features", {}),
        (flow, "spynet", "flow", {}),
        (flow, "raft_small", "flow", {}),
        (frames, "mobilenet_v2", "pool", {}),
        (i3d, "i3d_rgb", "pool", {}),
        (i3d_flow, "i3d_flow", "pool", {}),
        (mask_rcnn, "fasterrcnn_mobilenet_v3_large_fpn", "boxes", {"image": "none", "motion": "none"}),
        (resnext3d, "resnext50_3d", "pool", {}),
        (soundnet, "soundnet8", "pool", {}),
        (yolo, "yolov4_tiny", "boxes", {"image": "none", "motion": "none"}),
    ],
)
def test_weights_of_another_network_are_named_as_such(family, network: str, output: str, options: dict) -> None:
    with pytest.raises(ExtractorError, match="these are not the weights of"):
        family.build(network, outputs=[output], weights={"another.weight": torch.zeros(1)}, **options)
