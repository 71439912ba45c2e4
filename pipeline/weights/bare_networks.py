"""The network that weights are for, without any numbers: to know names and shapes before anything is kept.

By LIBRARY:NETWORK, or by an entry of the weights registry.
"""

from __future__ import annotations

from collections.abc import Callable

import timm
import torch
from torch import nn
from torchvision.models import get_model, list_models

from extractors import openl3, resnext3d, soundnet, vggish
from extractors.base import ExtractorError
from extractors.parts import c3d_network, csn_network, i3d_network, video_networks
from extractors.parts.detection.bottom_up import BottomUp
from extractors.parts.detection.yolov4 import Yolov4Tiny
from extractors.parts.optical_flow.spynet import SpynetNetwork

Make = Callable[[], nn.Module]


def _mean_alone() -> nn.Module:
    network = c3d_network.C3d()
    del network.layers
    return network


ENTRIES: dict[str, Make] = {
    "efficientnet_lite0": lambda: timm.create_model("tf_efficientnet_lite0"),
    "inception_v4": lambda: timm.create_model("inception_v4"),
    "i3d_rgb": i3d_network.I3d,
    "i3d_rgb_imagenet": i3d_network.I3d,
    "i3d_flow": lambda: i3d_network.I3d(channels=2),
    "c3d_network": lambda: c3d_network.C3d().layers,
    "c3d_sports1m_network": lambda: c3d_network.C3d(classes=c3d_network.CLASSES["c3d_sports1m"]).layers,
    "c3d_mean": _mean_alone,
    "s3d_kylemin": lambda: video_networks.torchvision_network("s3d")[0],
    "csn_r101": lambda: video_networks.pytorchvideo_network("csn_r101")[0],
    "vggish": lambda: vggish.Vggish(with_pca=False),
    "vggish_pca": vggish.Whitening,
    "soundnet": soundnet.SoundNet,
    "spynet": SpynetNetwork,
    "yolov4_tiny": Yolov4Tiny,
}
STEMS: dict[str, Make] = {  # entries that begin so are of one network
    "resnext101_3d": lambda: resnext3d.ResNeXt3d(resnext3d.NETWORKS["resnext101_3d"]),
    "ir_csn152": lambda: csn_network.Csn(csn_network.NETWORKS["ir_csn152"]),
    "faster_rcnn_vg": BottomUp,
}


def bare_network(name: str) -> nn.Module:
    """On the device `meta`; an error when no such network can be made here."""
    with torch.device("meta"):
        return _maker(name)()


def _maker(name: str) -> Make:
    library, found, network = name.partition(":")
    if found:
        return _of_library(library, network)
    stem = next((make for stem, make in STEMS.items() if name.startswith(stem)), None)
    if name.startswith("openl3_"):
        return lambda: openl3.OpenL3(name.split("_")[1], 512)
    return ENTRIES.get(name) or stem or _torchvision(_without_edition(name))


def _of_library(library: str, network: str) -> Make:
    if library == "timm":
        if not timm.is_model(network):
            raise ExtractorError(f"timm has no network '{network}'")
        return lambda: timm.create_model(network, pretrained=False)
    if library == "torchvision":
        return _torchvision(network.partition(".")[0])
    if library == "pytorchvideo":
        return lambda: video_networks.pytorchvideo_network(network)[0]
    raise ExtractorError(f"no network of '{library}' takes weights of your own; known: timm, torchvision, pytorchvideo")


def _without_edition(name: str) -> str:
    """resnet152_v2 is a resnet152, fasterrcnn_resnet50_fpn_coco a fasterrcnn_resnet50_fpn, raft_small_chairs_v1 ..."""
    if name in list_models():
        return name
    if name.startswith("raft_"):
        return "_".join(name.split("_")[:2])
    return name.removesuffix("_coco") if name.endswith("_coco") else name.removesuffix("_v2")


def _torchvision(name: str) -> Make:
    if name not in list_models():
        raise ExtractorError(f"no network is called '{name}'")
    settings = {"weights_backbone": None} if "rcnn" in name else {}
    return lambda: get_model(name, weights=None, **settings)
