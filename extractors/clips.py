"""Video networks of two libraries by name, on windows of frames: `torchvision:r3d_18`, `pytorchvideo:slow_r50`, ...

Outputs: any module of the network by its name (`layer4`, `blocks.4`), maps with channels last; and `pool`, what the
classifier is given, averaged over places and times. Preprocessing is the library's own for that network.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import get_model, get_model_weights, list_models, video

from extractors.base import RANDOM_SEED, ExtractorError, MissingPackageError, Takes, UnknownOutputError, load_weights
from extractors.parts.resizing import Library, Resizing
from extractors.parts.windows import Preparation, WindowExtractor, without_prefix

VERSION = 2
TAKES: Takes = "clips"
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


class Tapped(nn.Module):
    """A network of which the outputs of some modules, and the classifier's input, are looked at in passing."""

    def __init__(self, model: nn.Module, *, outputs: Sequence[str], channels_last: bool) -> None:
        super().__init__()
        self.model, self.outputs, self.channels_last = model, tuple(outputs), channels_last

    def forward(self, clips: Tensor) -> Iterable[tuple[str, Tensor]]:
        found: dict[str, Tensor] = {}
        hooks = [self._hook(name, found) for name in self.outputs]
        try:
            self.model(clips)
        finally:
            for hook in hooks:
                hook.remove()
        return found.items()

    def _hook(self, name: str, found: dict[str, Tensor]) -> Any:
        if name == "pool":
            return classifier(self.model).register_forward_pre_hook(partial(_keep_pooled, found))
        keep = partial(_keep_map, found, name, self.channels_last)
        return self.model.get_submodule(name).register_forward_hook(keep)


def _keep_pooled(found: dict[str, Tensor], module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    features = inputs[0] if isinstance(module, nn.Linear) else inputs[0].movedim(1, -1)  # (B, ..., C)
    found["pool"] = features.reshape(len(features), -1, features.shape[-1]).mean(1)


def _keep_map(
    found: dict[str, Tensor], name: str, channels_last: bool, _module: nn.Module, _inputs: Any, output: Any
) -> None:
    """Always (B, C, ...), as the extractor expects: tokens (B, N, C) and maps that have channels last are turned."""
    tensor = output[0] if isinstance(output, tuple) else output
    found[name] = tensor.movedim(-1, 1) if channels_last or tensor.ndim == 3 else tensor


def classifier(model: nn.Module) -> nn.Module:
    """The last layer with weights that mixes channels."""
    return [module for module in model.modules() if isinstance(module, nn.Linear | nn.Conv3d)][-1]


def torchvision_network(name: str) -> tuple[nn.Module, Preparation]:
    known = list_models(module=video)
    if name not in known:
        raise ExtractorError(f"torchvision has no video network '{name}'; it has: {', '.join(known)}")
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


def pytorchvideo_network(name: str) -> tuple[nn.Module, Preparation]:
    if name not in PYTORCHVIDEO:
        raise ExtractorError(f"no network 'pytorchvideo:{name}' is known; known: {', '.join(PYTORCHVIDEO)}")
    try:
        hub = importlib.import_module("pytorchvideo.models.hub")
    except ModuleNotFoundError as error:
        raise MissingPackageError(f"pytorchvideo:{name}", package="pytorchvideo", extra="pytorchvideo") from error
    side, grey, deviation = PYTORCHVIDEO[name], 255 * 0.45, 255 * 0.225
    mean, std = (grey, grey, grey), (deviation, deviation, deviation)
    preparation = Preparation(resize=side, crop=side, mean=mean, std=std, resizing=RESIZING)
    return getattr(hub, name)(pretrained=False), preparation


LIBRARIES = {"torchvision": torchvision_network, "pytorchvideo": pytorchvideo_network}


def map_published(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """Both libraries publish their own state dictionaries, pytorchvideo inside a checkpoint."""
    return without_prefix(state.get("model_state", state))


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = 16,
    device: str = "cpu",
    resize: Library = "published",
) -> WindowExtractor:
    library, _, name = network.partition(":")
    if library not in LIBRARIES:
        raise ExtractorError(f"the network is '{network}'; write LIBRARY:NAME, with one of {', '.join(LIBRARIES)}")
    torch.manual_seed(RANDOM_SEED)
    model, preparation = LIBRARIES[library](name)
    require_modules(outputs, model, network=network)
    if weights is not None:
        load_weights(model, weights, network=network)
    tapped = Tapped(model, outputs=outputs, channels_last=name.startswith("swin3d"))
    try:
        return WindowExtractor(
            tapped, preparation=preparation.by(resize), outputs=outputs, window=window, device=device
        )
    except (RuntimeError, ValueError) as error:
        raise ExtractorError(f"{network} does not take windows of {window} frames: {error}") from error


def require_modules(outputs: Sequence[str], model: nn.Module, *, network: str) -> None:
    modules = {name for name, _ in model.named_modules()} - {""}
    unknown = [name for name in outputs if name != "pool" and name not in modules]
    if unknown:
        stages = sorted(name for name in modules if name.count(".") < 2)
        raise UnknownOutputError(network, unknown, ["pool", *stages, "... any module"])
