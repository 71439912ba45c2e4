"""Video networks of torchvision and pytorchvideo by name: the module, and how its library prepares frames for it."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

from torch import nn
from torchvision.models import get_model, get_model_weights, list_models, video

from extractors.base import ExtractorError, MissingPackageError
from extractors.parts.resizing import Resizing
from extractors.parts.windows import Preparation

RESIZING = Resizing(method="torch_float", antialias=False)  # as both libraries' own transforms of clips
# Sides of the input that pytorchvideo and its SlowFast configurations test with; mean 0.45, deviation 0.225 for all
PYTORCHVIDEO = {
    "c2d_r50": 256,
    "csn_r101": 256,
    "i3d_r50": 256,
    "mvit_base_16x4": 224,
    "mvit_base_32x3": 224,
    "r2plus1d_r50": 256,
    "slow_r50": 256,
    "x3d_xs": 182,
    "x3d_s": 182,
    "x3d_m": 256,
    "x3d_l": 356,
}


# Of weights that are not the library's: kylemin's S3D was trained on pixels from 0 to 1, and sees a larger part of them
OTHERS = {
    ("s3d", "kylemin"): Preparation(resize=224, crop=224, mean=(0, 0, 0), std=(255, 255, 255), resizing=RESIZING),
}


def torchvision_network(name: str, published: str = "") -> tuple[nn.Module, Preparation]:
    known = list_models(module=video)
    if name not in known:
        raise ExtractorError(f"torchvision has no video network '{name}'; it has: {', '.join(known)}")
    if published:
        if (name, published) not in OTHERS:
            known = [f"{network}: {weights}" for network, weights in OTHERS]
            raise ExtractorError(f"there is no '{published}' of {name}; known: {', '.join(known)}")
        return get_model(name, weights=None), OTHERS[name, published]
    transform = next(iter(get_model_weights(name))).transforms()  # its first published weights
    size = tuple(transform.resize_size)
    preparation = Preparation(
        resize=size[0] if len(size) == 1 else size,
        crop=transform.crop_size[0],
        mean=tuple(255 * value for value in transform.mean),
        std=tuple(255 * value for value in transform.std),
        resizing=RESIZING,
    )
    return get_model(name, weights=None), preparation


def pytorchvideo_hub(wanted: str) -> ModuleType:
    """The package's networks; as it is imported it says that torch.jit.script is old, which is its makers' concern."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return importlib.import_module("pytorchvideo.models.hub")
    except ModuleNotFoundError as error:
        raise MissingPackageError(wanted, package="pytorchvideo", extra="pytorchvideo") from error


def pytorchvideo_network(name: str, published: str = "") -> tuple[nn.Module, Preparation]:
    if published:
        raise ExtractorError(f"there is no '{published}' of {name}: pytorchvideo's networks have their own weights")
    if name not in PYTORCHVIDEO:
        raise ExtractorError(f"no network 'pytorchvideo:{name}' is known; known: {', '.join(PYTORCHVIDEO)}")
    hub = pytorchvideo_hub(f"pytorchvideo:{name}")
    side, grey, deviation = PYTORCHVIDEO[name], 255 * 0.45, 255 * 0.225
    mean, std = (grey, grey, grey), (deviation, deviation, deviation)
    preparation = Preparation(resize=side, crop=side, mean=mean, std=std, resizing=RESIZING)
    return getattr(hub, name)(pretrained=False), preparation


LIBRARIES = {"torchvision": torchvision_network, "pytorchvideo": pytorchvideo_network}
