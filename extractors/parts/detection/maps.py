"""Last spatial maps of image and motion networks that are fed whole, uncropped pictures, to pool regions from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import get_model, get_model_weights, list_models

from extractors.base import ExtractorError, load_weights
from extractors.parts import engines
from extractors.parts.csn_network import NETWORKS, PREPARATIONS, Csn
from extractors.parts.detection.geometry import fit_uncropped, pad_to, pool_regions
from extractors.parts.i3d_network import I3d

SMALLEST = 32  # pixels of one cell of the last map


class RegionMap(nn.Module):
    """A network up to its last map, with its own normalisation; pools boxes given in the frame's own pixels."""

    def __init__(self, trunk: nn.Module, *, mean: list[float], std: list[float], short_side: int, motion: bool) -> None:
        super().__init__()
        self.trunk, self.mean, self.std = trunk.eval(), mean, std
        self.short_side, self.motion = short_side, motion
        with torch.no_grad(), engines.ConvBNTracer() as tracer:
            self.channels = len(self._last_map(torch.zeros(1, 3, SMALLEST, SMALLEST)))
        engines.fold_batch_norms(self.trunk, tracer.pairs())
        engines.in_channels_last(self.trunk)

    @property
    def preprocessing(self) -> dict[str, Any]:
        return {
            "resize_short_side": self.short_side,
            "crop": "none, padded to a multiple of 32",
            "interpolation": "bilinear",
            "antialias": True,
            "resize_library": "torch uint8",
            "scale": "0..1",
            "mean": self.mean,
            "std": self.std,
            "channels": "RGB",
        }

    def forward(self, pictures: Tensor, boxes: Tensor) -> Tensor:
        """(T, 3, H, W) uint8 and (R, 4) -> (R, C). A motion network's map is averaged over time first."""
        resized, padded = fit_uncropped(pictures, short_side=self.short_side)
        last = self._last_map(pad_to(self._normalised(resized), padded))
        size, frame = (resized.shape[2], resized.shape[3]), (pictures.shape[2], pictures.shape[3])
        return pool_regions(last, boxes, frame=frame, resized=size, padded=padded)

    def _normalised(self, pictures: Tensor) -> Tensor:
        mean, std = (torch.tensor(values, device=pictures.device)[:, None, None] for values in (self.mean, self.std))
        return (pictures.float() / 255 - mean) / std

    def _last_map(self, pictures: Tensor) -> Tensor:
        """(C, h, w); an image network is given one picture, a motion network the clip."""
        if self.motion:
            return self.trunk(pictures.transpose(0, 1)[None])[0].mean(1)
        return self.trunk(pictures)[0]


class EndPoint(nn.Module):
    """A network that yields its end points one after another, up to one of them."""

    def __init__(self, network: nn.Module, name: str) -> None:
        super().__init__()
        self.network, self.name = network, name

    def forward(self, clips: Tensor) -> Tensor:
        return next(maps for name, maps in self.network(clips) if name == self.name)


def image_map(network: str, *, weights: Mapping[str, Tensor] | None, short_side: int) -> RegionMap:
    return _torchvision(network, weights=weights, short_side=short_side, motion=False)


def motion_map(network: str, *, weights: Mapping[str, Tensor] | None, short_side: int) -> RegionMap:
    """`i3d_rgb`, an ir-CSN as its authors trained it, or a video network of torchvision by its name."""
    if network == "i3d_rgb":
        half = [0.5, 0.5, 0.5]  # -1..1
        trunk = EndPoint(_loaded(I3d(), weights, network=network), "Mixed_5c")
        return RegionMap(trunk, mean=half, std=half, short_side=short_side, motion=True)
    if network in NETWORKS:
        trunk = EndPoint(_loaded(Csn(NETWORKS[network]), weights, network=network), "layer4")
        published = PREPARATIONS["vmz"]
        mean, std = ([value / 255 for value in values] for values in (published.mean, published.std))
        return RegionMap(trunk, mean=mean, std=std, short_side=short_side, motion=True)
    return _torchvision(network, weights=weights, short_side=short_side, motion=True)


def _torchvision(network: str, *, weights: Mapping[str, Tensor] | None, short_side: int, motion: bool) -> RegionMap:
    if network not in list_models():
        raise ExtractorError(f"there is no network '{network}' to pool regions from; see docs/extractors.md")
    published = next(iter(get_model_weights(network))).transforms()
    trunk = trunk_of(_loaded(get_model(network, weights=None), weights, network=network))
    return RegionMap(trunk, mean=list(published.mean), std=list(published.std), short_side=short_side, motion=motion)


def trunk_of(model: nn.Module) -> nn.Module:
    """The network up to its last spatial map: torchvision calls it `features`, or everything before `avgpool`."""
    children = dict(model.named_children())
    if "features" in children:
        return children["features"]
    return nn.Sequential(*(children[name] for name in list(children)[: list(children).index("avgpool")]))


def _loaded(model: nn.Module, weights: Mapping[str, Tensor] | None, *, network: str) -> nn.Module:
    if weights is not None:
        load_weights(model, weights, network=network)
    return model
