"""What the registry says of published files agrees with the libraries that publish them, and with our networks."""

from __future__ import annotations

import pytest
import timm
import torch
from torchvision.models import get_model_weights, list_models

from extractors.parts.published import efficientnet_lite
from pipeline.weights import REGISTRY
from tests.weights.published_files import lite0_state

TORCHVISION = "https://download.pytorch.org/models/"


def test_torchvision_publishes_these_very_files() -> None:
    published = {weights.url for name in list_models() for weights in get_model_weights(name)}
    ours = {source.url for entry in REGISTRY.values() for source in entry.sources if TORCHVISION in source.url}

    assert len(ours) > 15
    assert ours <= published


@pytest.mark.parametrize("name", ["resnet152", "resnext101_32x8d", "mobilenet_v2"])
def test_torchvision_weights_without_version_are_the_first_published(name: str) -> None:
    """`DEFAULT` is the second version by now; the papers had the first."""
    assert REGISTRY[name].sources[0].url == next(iter(get_model_weights(name))).url


def test_sizes_are_those_that_torchvision_tells() -> None:
    told = {weights.url: weights.meta["_file_size"] for name in list_models() for weights in get_model_weights(name)}
    ours = {source.url: source.mebibytes for entry in REGISTRY.values() for source in entry.sources}

    for url in told.keys() & ours.keys():
        assert ours[url] == pytest.approx(told[url], abs=0.06)


def test_efficientnet_lite0_loads_strictly_into_timms() -> None:
    published = lite0_state()
    assert len(published) == 296  # as in the published file
    assert published["_blocks.0._depthwise_conv.weight"].shape == (32, 1, 3, 3)
    assert published["_fc.weight"].shape == (1000, 1280)

    with torch.device("meta"):
        network = timm.create_model("tf_efficientnet_lite0")
    network.load_state_dict(efficientnet_lite.map_published(published), assign=True)


def test_a_seventeenth_block_is_refused() -> None:
    with pytest.raises(IndexError, match="more than 16 blocks"):
        efficientnet_lite.map_published({"_blocks.16._bn1.bias": torch.zeros(1)})
