"""What networks on windows share: pictures as PIL resizes them, maps with channels last, taps that stop the network."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from extractors.base import ExtractorError, UnknownOutputError, require_network, require_outputs
from extractors.parts.resizing import Resizing
from extractors.parts.windows import Preparation, WindowExtractor, tapped, without_prefix

NOT_ANTIALIASED = Resizing(method="torch_float", antialias=False)
PLAIN = Preparation(resize=112, crop=112, mean=(0.0, 0.0, 0.0))


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=(height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(("height", "width"), [(240, 320), (321, 200), (113, 112), (90, 60), (1, 3)])
def test_pictures_are_resized_as_pil_does_and_cropped_in_the_middle(height: int, width: int) -> None:
    picture = noise(height, width)
    scale = 112 / min(height, width)
    wide, high = (112, int(height * scale)) if width < height else (int(width * scale), 112)
    resized = np.asarray(Image.fromarray(picture).resize((wide, high), Image.Resampling.BILINEAR), np.float32)
    top, left = round((high - 112) / 2), round((wide - 112) / 2)
    expected = resized[top : top + 112, left : left + 112].transpose(2, 0, 1)

    assert np.abs(PLAIN(picture).numpy() - expected).max() <= 1


def test_mean_and_deviation_are_on_the_scale_of_pixels() -> None:
    prepare = Preparation(resize=8, crop=8, mean=(10.0, 20.0, 30.0), std=(2.0, 4.0, 5.0))

    prepared = prepare(np.full((8, 8, 3), 100, np.uint8))

    assert prepared[:, 3, 4].tolist() == [45.0, 20.0, 14.0]


def test_without_a_deviation_the_scale_of_pixels_stays() -> None:
    prepared = Preparation(resize=8, crop=8, mean=(10.0, 20.0, 30.0))(np.full((8, 8, 3), 100, np.uint8))

    assert prepared[:, 3, 4].tolist() == [90.0, 80.0, 70.0]


class FirstFrame(nn.Module):
    """Yields the clip of its first colour, and then the mean colour of all frames."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Conv3d(3, 3, 1, bias=False)
        self.mix.weight.data = torch.eye(3)[..., None, None, None]

    def forward(self, clips: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        mixed = self.mix(clips)
        yield "map", mixed[:, :1]
        yield "colour", mixed.mean((2, 3, 4))


def test_windows_reach_the_network_colours_first_and_the_record_says_how_they_were_prepared() -> None:
    preparation = Preparation(resize=8, crop=6, mean=(0.0, 0.0, 0.0))
    extractor = WindowExtractor(
        FirstFrame(), preparation=preparation, outputs=["colour", "map"], window=4, device="cpu"
    )
    frames = [np.full((8, 8, 3), (10 * number, 1, 2), np.uint8) for number in range(4)]
    batch = torch.stack([extractor.prepare(frame) for frame in frames])[None]

    assert extractor.outputs == {"colour": (3,), "map": (4, 6, 6, 1)}
    found = extractor(batch)
    assert found["colour"][0].tolist() == [15.0, 1.0, 2.0]
    assert found["map"][0, :, 2, 3, 0].tolist() == [0.0, 10.0, 20.0, 30.0]
    said = extractor.preprocessing
    assert (said["resize"], said["crop"], said["std"], said["scale"]) == (8, 6, (1.0, 1.0, 1.0), "0..255")
    assert "resizing" not in said


def test_a_size_ignores_the_pictures_shape_and_antialiasing_can_be_left_out() -> None:
    squeezed = Preparation(resize=(128, 171), crop=112, mean=(0.0, 0.0, 0.0), resizing=NOT_ANTIALIASED)
    bars = np.zeros((256, 342, 3), np.uint8)
    bars[:, 0::2] = 200  # halved: an average, whatever the filter; quartered, the plain filter skips two of four

    assert squeezed(bars).shape == (3, 112, 112)
    assert set(squeezed(bars).unique().tolist()) == {100.0}
    assert PLAIN(noise(480, 640)).std() < squeezed(noise(480, 640)).std()


def test_maps_have_channels_last_and_a_bare_reshape_would_not_do() -> None:
    clips = torch.arange(5 * 2 * 3 * 4, dtype=torch.float32).view(1, 5, 2, 3, 4)

    grid = tapped([("layer", clips)], ["layer"])["layer"]

    assert grid.shape == (1, 2, 3, 4, 5)
    assert grid.is_contiguous()
    assert torch.equal(grid[0, 1, 2, 3], clips[0, :, 1, 2, 3])
    assert not torch.equal(grid, clips.reshape(1, 2, 3, 4, 5))


class Counting(nn.Module):
    """Yields three layers and remembers how far it was asked to go."""

    asked = 0

    def forward(self, clips: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        for number in range(1, 4):
            Counting.asked = number
            yield f"layer{number}", clips * number


def test_nothing_behind_the_last_wanted_layer_is_computed() -> None:
    clip = torch.ones(1, 2, 1, 1, 1)

    found = tapped(Counting()(clip), ["layer2", "layer1"])

    assert list(found) == ["layer2", "layer1"]
    assert found["layer2"].flatten().tolist() == [2.0, 2.0]
    assert Counting.asked == 2


def test_what_is_not_there_is_named_with_what_is() -> None:
    with pytest.raises(ExtractorError, match="there is no network 'csn9'; the family has: a, b"):
        require_network("csn9", ["a", "b"])
    with pytest.raises(UnknownOutputError, match=r"net has no output \['fc9'\]; it has: pool, grid"):
        require_outputs(["pool", "fc9"], known=["pool", "grid"], network="net")


def test_a_state_is_taken_out_of_its_checkpoint_and_wrapper() -> None:
    checkpoint = {"arch": "net", "state_dict": {"module.conv.weight": 1, "module.module_list.bias": 2}}

    assert without_prefix(checkpoint, "module.") == {"conv.weight": 1, "module_list.bias": 2}
    assert without_prefix({"conv.weight": 1}) == {"conv.weight": 1}
