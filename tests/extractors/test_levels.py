"""What travels to a device and is finished there is what `prepare` gives, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torchvision.models import get_model_weights

from extractors import frames
from extractors.parts.csn_network import PREPARATIONS
from extractors.parts.windows import Preparation
from extractors.resnext3d import PREPARATION

SQUASHED = Preparation(resize=(40, 40), crop=32, mean=(0.0, 1.5, 2.0), std=(3.0, 0.1, 255.0))


def pictures(seed: int, *, height: int, width: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (2, height, width, 3), np.uint8)


@pytest.fixture(scope="module")
def squeezenet() -> frames.FrameExtractor:
    return frames.build("squeezenet1_1", outputs=["pool"], weights=None)


@pytest.mark.parametrize("preparation", [*PREPARATIONS.values(), PREPARATION, SQUASHED])
@settings(max_examples=5)
@given(seed=st.integers(0, 999), height=st.integers(40, 90), width=st.integers(40, 90))
def test_windows_are_finished_in_a_batch_as_one_by_one(
    preparation: Preparation, seed: int, height: int, width: int
) -> None:
    both = pictures(seed, height=height, width=width)
    levels = [preparation.pixels(each) for each in both]
    mean, std = torch.tensor([preparation.mean, preparation.std])[..., None, None]

    assert {each.dtype for each in levels} == {torch.uint8}
    assert torch.equal(preparation.finish(torch.stack(levels)), torch.stack([preparation(each) for each in both]))
    assert torch.equal(preparation(both[0]), (levels[0].float() - mean) / std)


@pytest.mark.parametrize("size", [(60, 80), (300, 240), (224, 224)])
def test_frames_are_finished_in_a_batch_as_torchvision_does_one_by_one(
    squeezenet: frames.FrameExtractor, size: tuple[int, int]
) -> None:
    both: Any = pictures(0, height=size[0], width=size[1])
    levels = torch.stack([squeezenet.pixels(each) for each in both])
    published = next(iter(get_model_weights("squeezenet1_1"))).transforms()

    expected = torch.stack([published(squeezenet.resizing(each, squeezenet.size)) for each in both])
    assert levels.dtype == torch.uint8
    assert torch.equal(squeezenet.finish(levels), expected)
    assert torch.equal(torch.stack([squeezenet.prepare(each) for each in both]), expected)
