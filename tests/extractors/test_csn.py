"""ir-CSN: the published shapes, names and number of parameters, the same numbers as an independent implementation."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from extractors import csn
from extractors.base import ExtractorError
from extractors.parts import csn_network, engine_names
from extractors.parts.windows import Preparation, WindowExtractor, tapped
from tests.extractors.published import csn_shapes, numbered, strictly_loaded

SHAPES = {
    "layer1": (32, 56, 56, 256),
    "layer2": (16, 28, 28, 512),
    "layer3": (8, 14, 14, 1024),
    "layer4": (4, 7, 7, 2048),
    "pool": (2048,),
    "logits": (400,),
}


def test_every_layer_has_the_published_shape_and_the_network_its_size() -> None:
    extractor = csn.build("ir_csn152", outputs=list(SHAPES), weights=None)

    with torch.device("meta"):
        network = csn_network.Csn(csn_network.NETWORKS["ir_csn152"])

    assert extractor.outputs == SHAPES
    assert sum(each.numel() for each in network.parameters()) / 1e6 == pytest.approx(29.70, abs=0.005)


def test_the_published_state_loads_strictly_and_lands_where_it_belongs() -> None:
    state = numbered(csn_shapes())
    with torch.device("meta"):
        network = csn_network.Csn(csn_network.NETWORKS["ir_csn152"])

    loaded = strictly_loaded(network, csn.map_published({"meta": {}, "state_dict": state}))

    assert sorted(loaded.values()) == [float(number) for number in range(len(state))]
    assert loaded["layer3.35.conv2.bn.running_var"] == state["backbone.layer3.35.conv2.0.bn.running_var"][0]
    assert loaded["layer4.0.downsample.conv.weight"] == state["backbone.layer4.0.downsample.conv.weight"].flatten()[0]
    assert loaded["fc.bias"] == state["cls_head.fc_cls.bias"][0]


def their_state(network: csn_network.Csn) -> dict[str, torch.Tensor]:
    """Ours by pytorchvideo's names."""
    parts = {"conv1": "conv_a", "conv2": "conv_b", "conv3": "conv_c"}
    state = {}
    for name, tensor in network.state_dict().items():
        name = re.sub(r"^conv1\.conv\.", "blocks.0.conv.", name)
        name = re.sub(r"^conv1\.bn\.", "blocks.0.norm.", name)
        name = re.sub(r"^layer(\d)\.(\d+)\.", r"blocks.\1.res_blocks.\2.", name)
        name = name.replace("downsample.conv.", "branch1_conv.").replace("downsample.bn.", "branch1_norm.")
        for ours, theirs in parts.items():
            name = name.replace(f".{ours}.conv.", f".branch2.{theirs}.")
            name = name.replace(f".{ours}.bn.", f".branch2.{theirs.replace('conv', 'norm')}.")
        state[re.sub(r"^fc\.", "blocks.5.proj.", name)] = tensor
    return state


def test_the_same_numbers_as_pytorchvideo() -> None:
    """Its CSN-50 with our weights, and eps 1e-3 as published: with PyTorch's own 1e-5 the last layer is another."""
    theirs = pytest.importorskip("pytorchvideo.models.csn").create_csn(
        model_depth=50, stem_pool=torch.nn.MaxPool3d, head_pool_kernel_size=(1, 2, 2)
    )
    torch.manual_seed(0)
    network = csn_network.Csn(csn_network.NETWORKS["ir_csn50"])
    shake_statistics(network)
    theirs.load_state_dict(their_state(network))
    ours = csn.build("ir_csn50", outputs=["layer2", "layer4", "logits"], weights=network.state_dict(), window=8)
    clip = torch.randn(1, 8, 3, 64, 64)

    found = ours(clip)
    drifted, _ = run_theirs(theirs, clip, eps=1e-5)
    layer4, logits = run_theirs(theirs, clip, eps=1e-3)

    torch.testing.assert_close(found["layer4"], layer4, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(found["logits"], logits, rtol=1e-3, atol=1e-4)
    assert float((found["layer4"] - drifted).abs().max()) > 0.01 * float(layer4.abs().max())


def shake_statistics(network: torch.nn.Module) -> None:
    """Normalisations as a trained network has them: all different, some variances small enough for eps to matter."""
    numbers = torch.Generator().manual_seed(1)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm3d):
            module.running_mean.uniform_(-0.1, 0.1, generator=numbers)
            module.running_var.uniform_(0.002, 0.2, generator=numbers)
            module.weight.data.uniform_(0.2, 0.6, generator=numbers)


@torch.inference_mode()
def run_theirs(network: torch.nn.Module, clip: torch.Tensor, *, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm3d):
            module.eps = eps
    maps = clip.transpose(1, 2)
    for block in network.eval().blocks[:5]:
        maps = block(maps)
    return maps.permute(0, 2, 3, 4, 1), network.blocks[5](maps)


def test_norms_are_folded_and_an_exported_graph_gives_the_same_rows() -> None:
    for package in engine_names.PACKAGES["onnxruntime"]:
        pytest.importorskip(package)
    torch.manual_seed(0)
    network = csn_network.Csn((1, 1, 1, 1))
    shake_statistics(network)
    clip = torch.randn(2, 4, 3, 32, 32)
    with torch.inference_mode():
        plain = tapped(network.eval()(clip.transpose(1, 2)), ["layer3", "pool"])
    small = Preparation(resize=32, crop=32, mean=(0.0, 0.0, 0.0))
    extractor = WindowExtractor(network, preparation=small, outputs=["layer3", "pool"], window=4, device="cpu")

    eager = extractor(clip)
    extractor.use("onnxruntime")
    exported = extractor(clip)

    assert not [module for module in extractor.network.modules() if isinstance(module, torch.nn.BatchNorm3d)]
    for name, rows in plain.items():
        torch.testing.assert_close(eager[name], rows, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(exported[name], rows, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("normalisation", "expected"),
    [
        ("vmz", [(255 - 110.201) / 58.1489, (255 - 100.64) / 56.4701, (255 - 95.9966) / 55.3324]),
        ("mmaction2", [(255 - 123.675) / 58.395, (255 - 116.28) / 57.12, (255 - 103.53) / 57.375]),
    ],
)
def test_pixels_are_normalised_as_those_who_trained_did(normalisation: str, expected: list[float]) -> None:
    extractor = csn.build("ir_csn50", outputs=["pool"], weights=None, normalisation=normalisation)

    white = extractor.prepare(np.full((300, 400, 3), 255, np.uint8))

    assert white.shape == (3, 224, 224)
    assert white[:, 0, 0].tolist() == pytest.approx(expected)


def test_an_unknown_normalisation_lists_the_known() -> None:
    with pytest.raises(ExtractorError, match="normalisation is 'caffe', allowed: vmz, mmaction2"):
        csn.build("ir_csn50", outputs=["pool"], weights=None, normalisation="caffe")
