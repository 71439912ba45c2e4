"""3D-ResNeXt: the authors' shapes, names and pixels, and rows of clips of any length."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from extractors import resnext3d
from extractors.base import ExtractorError
from pipeline.extraction import sampling
from pipeline.extraction.forward_pass import forward
from pipeline.params.extract import Sampling
from tests.extractors.published import numbered, resnext3d_shapes, strictly_loaded

SHAPES = {  # frames -> rows, channels last
    8: {"layer1": (4, 28, 28, 256), "layer2": (2, 14, 14, 512), "layer3": (1, 7, 7, 1024), "layer4": (1, 4, 4, 2048)},
    16: {"layer1": (8, 28, 28, 256), "layer2": (4, 14, 14, 512), "layer3": (2, 7, 7, 1024), "layer4": (1, 4, 4, 2048)},
    64: {"layer4": (4, 4, 4, 2048)},
}


@pytest.fixture(scope="module")
def small() -> resnext3d.WindowExtractor:
    """The same blocks, fewer of them."""
    return resnext3d.build("resnext50_3d", outputs=["pool", "layer3", "layer4"], weights=None, window=8)


@pytest.mark.parametrize("frames", SHAPES)
def test_every_layer_has_the_published_shape(frames: int) -> None:
    outputs = [*SHAPES[frames], "pool", "logits"]
    extractor = resnext3d.build("resnext101_3d", outputs=outputs, weights=None, window=frames)

    assert extractor.outputs == SHAPES[frames] | {"pool": (2048,), "logits": (400,)}


def test_the_published_state_loads_strictly_and_lands_where_it_belongs() -> None:
    state = numbered(resnext3d_shapes())
    with torch.device("meta"):
        network = resnext3d.ResNeXt3d(resnext3d.NETWORKS["resnext101_3d"])

    loaded = strictly_loaded(network, resnext3d.map_published({"arch": "resnext-101", "state_dict": state}))

    assert loaded == {name.removeprefix("module."): float(value.flatten()[0]) for name, value in state.items()}


def test_a_state_of_shortcuts_without_projection_is_refused() -> None:
    """Shortcut A has no `downsample`; loading it must not leave a random projection behind."""
    state = {name: value for name, value in numbered(resnext3d_shapes()).items() if "downsample" not in name}
    with torch.device("meta"):
        network = resnext3d.ResNeXt3d(resnext3d.NETWORKS["resnext101_3d"])

    with pytest.raises(RuntimeError, match="Missing key"):
        strictly_loaded(network, resnext3d.map_published(state))


def test_pixels_lose_their_mean_and_are_not_scaled(small: resnext3d.WindowExtractor) -> None:
    white = small.prepare(np.full((120, 160, 3), 255, np.uint8))

    expected = torch.tensor([255 - 114.7748, 255 - 107.7354, 255 - 99.4750])
    torch.testing.assert_close(white, expected[:, None, None].expand(3, 112, 112))


def test_pool_is_the_mean_of_the_last_layer(small: resnext3d.WindowExtractor) -> None:
    rows = small(100 * torch.randn(1, 8, 3, 112, 112))

    assert float(rows["layer4"].std()) > 0
    torch.testing.assert_close(rows["pool"], rows["layer4"].mean((1, 2, 3)))


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17])
def test_rows_of_short_clips_line_up_with_single_frames(frames: int, small: resnext3d.WindowExtractor) -> None:
    rows = sampling.sample(Sampling(window=8, stride=5, tail="each"), frames=frames, times=np.arange(frames) / 25)
    pictures = np.random.default_rng(0).integers(0, 256, size=(frames, 30, 40, 3), dtype=np.uint8)

    found = forward(small, iter(pictures), rows=rows)

    assert {name: array.shape for name, array in found.items()} == {
        name: (-(-frames // 5), *shape) for name, shape in small.outputs.items()
    }


def test_an_unknown_network_lists_the_known() -> None:
    with pytest.raises(ExtractorError, match=r"there is no network 'resnext18_3d'; the family has: .*resnext101_3d"):
        resnext3d.build("resnext18_3d", outputs=["pool"], weights=None)
