"""Video networks of two libraries by name, on windows of frames: `torchvision:r3d_18`, `pytorchvideo:slow_r50`, ...

Outputs: any module of the network by its name (`layer4`, `blocks.4`), maps with channels last; and `pool`, what the
classifier is given, averaged over places and times. Preprocessing is the library's own for that network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from extractors.base import RANDOM_SEED, ExtractorError, Takes, UnknownOutputError, load_weights
from extractors.parts.classes import take_classes_of
from extractors.parts.resizing import ResizeLibrary
from extractors.parts.video_networks import LIBRARIES
from extractors.parts.windows import WindowExtractor, without_prefix

VERSION = 2
TAKES: Takes = "clips"


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
    resize: ResizeLibrary = "published",
    published: str = "",
) -> WindowExtractor:
    """`published` names whose weights they are, where not the library's first, and so how frames are prepared."""
    library, _, name = network.partition(":")
    if library not in LIBRARIES:
        raise ExtractorError(f"the network is '{network}'; write LIBRARY:NAME, with one of {', '.join(LIBRARIES)}")
    torch.manual_seed(RANDOM_SEED)
    model, preparation = LIBRARIES[library](name, published)
    require_modules(outputs, model, network=network)
    if weights is not None:
        take_classes_of(model, weights)
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
