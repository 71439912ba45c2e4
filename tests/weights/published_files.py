"""What every entry's published files hold, as trees of stand-ins with the published names and shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from extractors.parts.published import efficientnet_lite
from pipeline.weights.bare_networks import bare_network
from tests.extractors import published, published_s3d, published_sounds
from tests.extractors.darknet import drawn_numbers
from tests.extractors.published import numbered

BOTTOM_UP = (64, (3, 4, 23), 1600, 400)  # width, blocks, classes, attributes
# torchvision's detectors of 2019, before their convolutions were put into blocks
BEFORE_BLOCKS = {
    r"(fpn\.\w+_blocks\.\d)\.0\.": r"\1.",
    r"rpn\.head\.conv\.0\.0\.": "rpn.head.conv.",
    r"mask_head\.(\d)\.0\.": lambda found: f"mask_head.mask_fcn{int(found[1]) + 1}.",
}


def on_meta(make: Callable[[], nn.Module]) -> nn.Module:
    """A network without its numbers."""
    with torch.device("meta"):
        return make()


def without_counters(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in state.items() if not name.endswith("num_batches_tracked")}


def stand_ins(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return numbered((name, tuple(tensor.shape)) for name, tensor in state.items())


def lite0_state() -> dict[str, Tensor]:
    """timm's names as ml-illustrated has them: blocks numbered through, underscores, expansion called so."""
    theirs: dict[str, Tensor] = {}
    outside = {ours: name for name, ours in efficientnet_lite.OUTSIDE.items()}
    blocks: list[str] = []
    for name, tensor in bare_network("efficientnet_lite0").state_dict().items():
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


@cache
def openl3_stand_ins() -> dict[str, Tensor]:
    return stand_ins(published_sounds.openl3_state())


def inception_v4(name: str) -> dict[str, Tensor]:
    """Cadene's file is older than the counters and has a class for the background; timm's own is timm's own."""
    state = bare_network("inception_v4").state_dict()
    if name == "model.safetensors":
        return stand_ins(state)
    head = {"last_linear.weight": (1001, 1536), "last_linear.bias": (1001,)}
    return {**stand_ins(without_counters(state)), **numbered(head.items())}


def torchvisions(entry: str) -> dict[str, Tensor]:
    """Older files have no counters, so none of these have."""
    state = stand_ins(without_counters(bare_network(entry).state_dict()))
    if "rcnn" not in entry or "_v2_" in entry:
        return state
    for ours, theirs in BEFORE_BLOCKS.items():
        state = {re.sub(ours, theirs, name): tensor for name, tensor in state.items()}
    return state


def lasagne() -> list[np.ndarray]:
    """Arrays without names, matrices turned."""
    sizes = published.C3D_SIZES.values()
    shapes = [each for size in sizes for each in (size if len(size) == 5 else size[::-1], size[:1])]
    return [tensor.numpy() for tensor in numbered(enumerate(shapes)).values()]


def kylemins_s3d() -> dict[str, Tensor]:
    """Units of a convolution and its norm, or of two: over places, then over time."""
    return stand_ins(without_counters(published_s3d.S3d().state_dict()))


def tree_of(entry: str, file: str) -> Any:
    """What the file of this name holds; an entry that is not known here is an error."""
    ours = bare_network(entry).state_dict() if entry.startswith("i3d") else {}
    by_file: dict[str, Callable[[], Any]] = {
        "i3d-kinetics-400.ckpt": published.i3d_tree,
        "rgb_imagenet.pt": lambda: published.i3d_port(stand_ins(without_counters(ours)), port="piergiaj"),
        "model_rgb.pth": lambda: published.i3d_port(stand_ins(ours), port="hassony2"),
        "c3d_sports1m_pretrain_20201016-dcc47ddc.pth": lambda: numbered(
            published.c3d_shapes(published.names_of_mmaction2)
        ),
        "c3d.pickle": lambda: numbered(published.c3d_shapes(published.names_of_davidea)),
        "c3d_model.pkl": lasagne,
        "S3D_kinetics400_torchified.pt": kylemins_s3d,
        "S3D_kinetics400.pt": lambda: {f"module.{name}": tensor for name, tensor in kylemins_s3d().items()},
        "sport1m_train16_128_mean.binaryproto": lambda: {"data": np.zeros((3, 16, 128, 171), np.float32)},
        "snipplet_mean.npy": lambda: np.zeros((1, 3, 16, 128, 171), np.float64),
        "yolov4-tiny.weights": lambda: {"numbers": drawn_numbers()},
        "vggish_pca_params.npz": lambda: {"pca_eigen_vectors": np.zeros((128, 128)), "pca_means": np.zeros(128)},
        "vggish_pca_params-970ea276.pth": lambda: numbered(
            [("pca_eigen_vectors", (128, 128)), ("pca_means", (128, 1))]
        ),
    }
    by_file |= {
        "flow_imagenet.pt": by_file["rgb_imagenet.pt"],
        "model_flow.pth": by_file["model_rgb.pth"],
    }
    by_family: dict[str, Callable[[], Any]] = {
        "efficientnet": lambda: stand_ins(lite0_state()),
        "inception": lambda: inception_v4(file),
        "resnext101_3d": lambda: {"arch": "resnext-101", "state_dict": numbered(published.resnext3d_shapes())},
        "ir_csn152": lambda: {"meta": {}, "state_dict": numbered(published.csn_shapes())},
        "csn_r101": lambda: {"model_state": stand_ins(bare_network("csn_r101").state_dict())},
        "vggish": lambda: numbered(
            (f"{name}.{kind}", shape if kind == "weight" else shape[:1])
            for name, shape in published_sounds.VGGISH_PORT.items()
            for kind in ("weight", "bias")
        ),
        "soundnet": published_sounds.soundnet_tree,
        "openl3": openl3_stand_ins,
        "spynet": lambda: {"params": published.spynet_state("spynet.basic_module.{level}.basic_module.{number}", 2)},
    }
    if file in by_file:
        return by_file[file]()
    if file.endswith(".h5.gz"):
        return published_sounds.as_keras(openl3_stand_ins(), first=1)
    if entry.startswith("faster_rcnn_vg"):
        names = published.bottom_up_shapes if file.endswith(".pkl") else published.caffe_shapes
        return {"model": numbered(names(*BOTTOM_UP).items())}
    made = next((make for stem, make in by_family.items() if entry.startswith(stem)), None)
    return made() if made else torchvisions(entry)
