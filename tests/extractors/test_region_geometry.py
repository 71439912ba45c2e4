"""Boxes follow the pixels: through resizing, padding and the network's stride onto the right cells of a map."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from extractors.parts.detection.geometry import (
    clip_boxes,
    fit_uncropped,
    limited_scale,
    pad_to,
    pool_regions,
    resize_exactly,
    thicken,
)


@pytest.mark.parametrize(
    ("size", "scale"),
    [((480, 640), 600 / 480), ((240, 320), 2.5), ((300, 900), 1000 / 900), ((1080, 1920), 1000 / 1920), ((2, 1000), 1)],
)
def test_the_short_side_rules_until_the_long_one_is_too_long(size: tuple[int, int], scale: float) -> None:
    assert limited_scale(*size, short_side=600, long_side=1000) == scale


@pytest.mark.parametrize("scale", [2.5, 0.37, 600 / 341, 1.0])
@pytest.mark.parametrize("size", [(33, 57), (3, 9), (61, 2)])
def test_resizing_is_opencvs(size: tuple[int, int], scale: float) -> None:
    cv2 = pytest.importorskip("cv2", reason="opencv is an extra of ours, and the yardstick here")
    picture = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.float32) - 110
    expected = cv2.resize(picture, None, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)

    found = resize_exactly(torch.from_numpy(picture).permute(2, 0, 1), scale=scale).permute(1, 2, 0)

    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_resizing_by_an_exact_scale_moves_no_pixel() -> None:
    """A ramp of 57 columns by 1.77: column x shows the value at (x + 0.5) / 1.77 - 0.5, not a stretched one."""
    ramp = torch.arange(57.0).expand(1, 4, 57)

    found = resize_exactly(ramp, scale=1.77)[0, 0]

    expected = ((torch.arange(len(found)) + 0.5) / 1.77 - 0.5).clamp(0, 56)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    assert len(found) == round(57 * 1.77)


@pytest.mark.parametrize(
    ("size", "padded"),
    [((240, 320), (256, 352)), ((1, 1), (256, 256)), ((2, 1000), (32, 1024)), ((720, 576), (320, 256))],
)
def test_whole_pictures_keep_their_aspect(size: tuple[int, int], padded: tuple[int, int]) -> None:
    resized, to = fit_uncropped(torch.zeros(1, 3, *size, dtype=torch.uint8), short_side=256)

    assert to == padded
    assert all(0 <= whole - part < 32 for whole, part in zip(to, resized.shape[2:], strict=True))


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1), (240, 320), (10, 320)])
def test_only_threads_are_thickened(size: tuple[int, int]) -> None:
    thick = thicken(torch.ones(3, *size))

    assert 32 * min(thick.shape[1:]) >= max(thick.shape[1:])
    assert thick.sum() == 3 * size[0] * size[1]
    assert thick.shape[1:] == size or max(size) > 32 * min(size)


def test_boxes_are_clipped_and_empty_ones_known() -> None:
    boxes = torch.tensor([[-5.0, -5, 5, 5], [90, 10, 120, 20], [100, 10, 130, 20], [5, 5, 5, 9], [-9, -9, -1, -1]])

    clipped, real = clip_boxes(boxes, height=50, width=100)

    assert clipped[:2].tolist() == [[0, 0, 5, 5], [90, 10, 100, 20]]
    assert real.tolist() == [True, True, False, False, False]


def by_hand(feature_map: np.ndarray, box: tuple[float, float, float, float]) -> np.ndarray:
    """ROIAlign's mean: 7x7 bins of 2x2 points, bilinear, where cell i has its centre at i + 1/2."""
    _, height, width = feature_map.shape
    places = [
        low + (high - low) * (np.arange(14) + 0.5) / 14 - 0.5 for low, high in ((box[0], box[2]), (box[1], box[3]))
    ]
    total = np.zeros(len(feature_map))
    for y in np.clip(places[1], 0, height - 1):
        for x in np.clip(places[0], 0, width - 1):
            top, left = min(int(y), height - 2), min(int(x), width - 2)
            down, right = y - top, x - left
            corner = feature_map[:, top : top + 2, left : left + 2]
            weights = np.outer([1 - down, down], [1 - right, right])
            total += (corner * weights).sum((1, 2))
    return total / 14**2


@pytest.mark.parametrize("box", [(1.0, 1.0, 3.0, 2.5), (0.0, 0.0, 6.0, 4.0), (2.2, 0.3, 2.9, 3.1)])
def test_pooling_equals_a_computation_by_hand(box: tuple[float, float, float, float]) -> None:
    """Of 4x6 cells over a padded input of 128x192, of a frame of 64x90 that was doubled to 128x180."""
    feature_map = torch.from_numpy(np.random.default_rng(3).normal(size=(5, 4, 6))).float()
    pixels = torch.tensor([[side * 32 / 2 for side in box]])

    found = pool_regions(feature_map, pixels, frame=(64, 90), resized=(128, 180), padded=(128, 192))[0]

    np.testing.assert_allclose(found, by_hand(feature_map.numpy(), box), atol=1e-5)


@pytest.mark.parametrize("size", [(120, 200), (200, 120), (97, 301)])
@pytest.mark.parametrize("corner", [(8, 70), (50, 8)])
def test_the_cells_under_a_bright_square(size: tuple[int, int], corner: tuple[int, int]) -> None:
    """A mean over 32x32 pixels stands for a network. A box inside the square is bright; with rows and columns
    exchanged it is dark.
    """
    top, left = corner
    frame = torch.zeros(1, 3, *size, dtype=torch.uint8)
    frame[:, :, top : top + 40, left : left + 40] = 255
    inside = [left + 8.0, top + 8.0, left + 32.0, top + 32.0]
    exchanged = [inside[1], inside[0], inside[3], inside[2]]
    resized, padded = fit_uncropped(frame, short_side=512)
    cells = F.avg_pool2d(pad_to(resized.float(), padded), 32)[0]

    pooled = pool_regions(
        cells,
        torch.tensor([inside, exchanged]),
        frame=size,
        resized=(resized.shape[2], resized.shape[3]),
        padded=padded,
    )

    assert pooled[0, 0] > 230
    assert pooled[1, 0] < 25


def test_no_box_is_no_feature() -> None:
    none = pool_regions(torch.ones(3, 2, 2), torch.empty(0, 4), frame=(9, 9), resized=(64, 64), padded=(64, 64))

    assert none.shape == (0, 3)
