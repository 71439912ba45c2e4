"""What the registry says of published files agrees with the libraries that publish them, and with our networks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import pytest
import timm
import torch
from torch import Tensor, nn
from torchvision.models import get_model, get_model_weights, list_models

from extractors import c3d, i3d, i3d_flow, mask_rcnn, vggish
from extractors.optical_flow.spynet import SpynetNetwork
from extractors.published import efficientnet_lite
from pipeline.weights import REGISTRY

TORCHVISION = "https://download.pytorch.org/models/"


def on_meta(make: Callable[[], nn.Module]) -> dict[str, Tensor]:
    """Names and shapes of a network, without its numbers."""
    with torch.device("meta"):
        return make().state_dict()


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


def _lite0_published() -> dict[str, Tensor]:
    """timm's names as ml-illustrated has them: blocks numbered through, underscores, expansion called so."""
    theirs: dict[str, Tensor] = {}
    outside = {ours: name for name, ours in efficientnet_lite.OUTSIDE.items()}
    blocks: list[str] = []
    for name, tensor in on_meta(lambda: timm.create_model("tf_efficientnet_lite0")).items():
        block = re.match(r"blocks\.(\d+\.\d+)\.(\w+)\.(\w+)", name)
        if not block:
            layer, kind = name.split(".")
            theirs[f"{outside[layer]}.{kind}"] = tensor
            continue
        if block[1] not in blocks:
            blocks.append(block[1])
        number = blocks.index(block[1])
        inside = {ours: name for name, ours in (efficientnet_lite.LATER if number else efficientnet_lite.FIRST).items()}
        theirs[f"_blocks.{number}.{inside[block[2]]}.{block[3]}"] = tensor
    return theirs


def test_efficientnet_lite0_loads_strictly_into_timms() -> None:
    published = _lite0_published()
    assert len(published) == 296  # as in the published file
    assert published["_blocks.0._depthwise_conv.weight"].shape == (32, 1, 3, 3)
    assert published["_fc.weight"].shape == (1000, 1280)

    with torch.device("meta"):
        network = timm.create_model("tf_efficientnet_lite0")
    network.load_state_dict(efficientnet_lite.map_published(published), assign=True)


def test_a_seventeenth_block_is_refused() -> None:
    with pytest.raises(IndexError, match="more than 16 blocks"):
        efficientnet_lite.map_published({"_blocks.16._bn1.bias": torch.zeros(1)})


def bundled(name: str, states: Mapping[str, Iterable[str]]) -> set[str]:
    """The keys of a bundle whose parts have these keys."""
    return {f"{prefix}{key}" for part, prefix in REGISTRY[name].parts.items() for key in states[part]}


def test_a_bundle_of_c3d_is_the_whole_state_of_the_network() -> None:
    whole = on_meta(c3d.C3d)
    layers = {key.removeprefix("layers.") for key in whole if key != "mean"}

    assert bundled("c3d", {"c3d_network": layers, "c3d_mean": ["mean"]}) == set(whole)


def test_a_bundle_of_vggish_is_the_whole_state_of_the_network() -> None:
    whole = on_meta(lambda: vggish.Vggish(with_pca=True))
    network = {key for key in whole if not key.startswith("post.")}

    parts = {"vggish": network, "vggish_pca": {key.removeprefix("post.") for key in whole.keys() - network}}
    assert bundled("vggish_quantised", parts) == set(whole)


@pytest.mark.parametrize("flow", ["raft_large", "raft_small", "spynet"])
def test_a_bundle_of_flow_is_taken_apart_again(flow: str) -> None:
    make = SpynetNetwork if flow == "spynet" else lambda: get_model(flow, weights=None)
    parts = {"i3d_flow": on_meta(lambda: i3d.I3d(channels=2)), flow: on_meta(make)}

    keys = bundled(f"i3d_flow_{flow}", parts)
    for_flow, for_i3d = i3d_flow.split(dict.fromkeys(keys, torch.empty(0)))

    assert for_flow.keys() == parts[flow].keys()
    assert for_i3d.keys() == parts["i3d_flow"].keys()


def test_a_bundle_of_vatex_has_the_parts_that_its_extractor_looks_for() -> None:
    keys = bundled("vatex_regions", {part: [part] for part in REGISTRY["vatex_regions"].parts})
    state = dict.fromkeys(keys, torch.empty(0))

    assert list(mask_rcnn.part(state, "detector") or {}) == ["maskrcnn_resnet50_fpn_coco"]
    assert list(mask_rcnn.part(state, "image") or {}) == ["resnext101_32x8d"]
    assert list(mask_rcnn.part(state, "motion") or {}) == ["ir_csn152"]
