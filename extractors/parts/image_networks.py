"""Image networks of timm and torchvision by name: the module, its taps, and the transform that its weights want.

Maps come out with channels last. Nothing here asks a hub: preprocessing is part of the installed libraries.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import timm
import torch
from timm.data import resolve_data_config
from torch import Tensor, nn
from torchvision.models import SwinTransformer, get_model, get_model_weights, list_models
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names
from torchvision.transforms import InterpolationMode
from torchvision.transforms._presets import ImageClassification

from extractors.base import ExtractorError, UnknownOutputError, load_weights
from extractors.parts.probing import without_arithmetic

HEADS = ("fc", "classifier", "head", "heads")  # what torchvision calls the part behind the last map
BEFORE_THE_HEAD = 6  # nodes to look for the last map in
HEADLINE = ("pool", "grid")
INTERPOLATIONS = {mode.value: mode for mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)}


def named(
    network: str, *, outputs: Sequence[str], weights: Mapping[str, Tensor] | None, published: str = ""
) -> tuple[nn.Module, ImageClassification]:
    """A module (B, 3, S, S) -> {output: rows}, and its transform. A name without a library is torchvision's.

    `published` is the library's name of the weights whose transform is wanted; without one, torchvision's first or
    timm's default.
    """
    library, found, name = network.partition(":")
    if not found:
        library, name = "torchvision", network
    if library not in LIBRARIES:
        raise ExtractorError(f"'{network}': no library '{library}'; known: {', '.join(LIBRARIES)}")
    return LIBRARIES[library](network, name, outputs, weights, published)


def _torchvision(
    network: str, name: str, outputs: Sequence[str], weights: Mapping[str, Tensor] | None, published: str
) -> tuple[nn.Module, ImageClassification]:
    if name not in list_models():
        raise _unknown(network, name, list_models())
    editions = {each.name: each for each in get_model_weights(name)}
    edition: Any = editions.get(published or next(iter(editions)))  # V1: what was published first
    if edition is None:
        raise ExtractorError(f"torchvision published no '{published}' of {name}; it has: {', '.join(editions)}")
    transform = edition.transforms()
    if not isinstance(transform, ImageClassification):
        raise ExtractorError(f"'{network}' is not a network of single pictures")
    settings = torchvision_settings(name, trained=weights is not None, side=transform.crop_size[0])
    model = load(get_model(name, weights=None, **settings), weights, network=network)
    return TorchvisionTaps(network, model, outputs, size=transform.crop_size[0]), transform


def torchvision_settings(name: str, *, trained: bool, side: int) -> dict[str, Any]:
    """What torchvision's own loader changes besides the weights."""
    if name in {"googlenet", "inception_v3"}:
        return {"init_weights": not trained, "transform_input": trained}  # trained on another scale of colours
    return {"image_size": side} if name.startswith("vit_") else {}


def _timm(
    network: str, name: str, outputs: Sequence[str], weights: Mapping[str, Tensor] | None, published: str
) -> tuple[nn.Module, ImageClassification]:
    name = f"{name.partition('.')[0]}.{published}" if published else name
    if not timm.is_model(name):
        raise _unknown(network, name, timm.list_models())
    model = load(timm.create_model(name, pretrained=False), weights, network=network)
    return TimmTaps(network, model, outputs), timm_transform(network, resolve_data_config({}, model=model))


LIBRARIES: dict[str, Callable[..., tuple[nn.Module, ImageClassification]]] = {
    "timm": _timm,
    "torchvision": _torchvision,
}


def load(model: nn.Module, weights: Mapping[str, Tensor] | None, *, network: str) -> nn.Module:
    if weights is not None:
        load_weights(model, weights, network=network)
    return model.eval()


def timm_transform(network: str, config: Mapping[str, Any]) -> ImageClassification:
    channels, size, width = config["input_size"]
    if (channels, width) != (3, size) or config["interpolation"] not in INTERPOLATIONS:
        raise ExtractorError(f"'{network}' takes pictures that are not prepared here: {dict(config)}")
    if config["crop_mode"] not in {"center", "squash"}:
        raise ExtractorError(f"'{network}' has the crop mode '{config['crop_mode']}'; known: center, squash")
    resize = math.floor(size / config["crop_pct"])
    return ImageClassification(
        crop_size=size,
        resize_size=resize if config["crop_mode"] == "center" else [resize, resize],
        mean=config["mean"],
        std=config["std"],
        interpolation=INTERPOLATIONS[config["interpolation"]],
    )


class TorchvisionTaps(nn.Module):
    """`grid` is the last map before the classifier and `pool` its mean; others are nodes or modules by name."""

    def __init__(self, network: str, model: nn.Module, outputs: Sequence[str], *, size: int) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that training mode has other nodes
            nodes = get_graph_node_names(model)[1]
            head = next(index for index, node in enumerate(nodes) if node.split(".")[0] in HEADS)
            ends = nodes[max(0, head - BEFORE_THE_HEAD) : head]
            self.names = {name: _last_node(network, name, nodes) for name in outputs if name not in HEADLINE}
            self.graph = create_feature_extractor(model, sorted({*ends, *self.names.values()}))
        self.outputs = tuple(outputs)
        self.already_last = isinstance(model, SwinTransformer)  # its maps are (B, H, W, C) until the last
        self.last_map, self.vector = self._ends(ends, size)
        if self.last_map is None and "grid" in outputs:
            raise ExtractorError(f"'{network}' has no map in front of its classifier; timm's transformers have one")

    def _ends(self, ends: Sequence[str], size: int) -> tuple[str | None, str]:
        """The last map, and what the classifier reads where there is none."""
        with without_arithmetic(self.graph):
            found = self.graph(torch.zeros(1, 3, size, size))
        tensors = {node: found[node] for node in ends if isinstance(found[node], Tensor)}
        maps = [node for node, each in tensors.items() if each.dim() == 4 and min(each.shape[2:]) > 1]
        return (maps[-1] if maps else None), ends[-1]

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        found = self.graph(batch)
        return {name: self._tap(name, found).contiguous() for name in self.outputs}

    def _tap(self, name: str, found: Mapping[str, Tensor]) -> Tensor:
        if name == "pool":
            return found[self.last_map].mean((2, 3)) if self.last_map else found[self.vector]
        node = self.last_map if name == "grid" else self.names[name]
        tensor = found[str(node)]
        return tensor if tensor.dim() != 4 or (self.already_last and name != "grid") else tensor.movedim(1, -1)


def _last_node(network: str, name: str, nodes: Sequence[str]) -> str:
    """A module's output is the last thing computed in it."""
    inside = [node for node in nodes if node == name or node.startswith(f"{name}.")]
    if not inside:
        stages = dict.fromkeys(".".join(node.split(".")[:2]) for node in nodes if "." in node)
        raise UnknownOutputError(network, [name], [*HEADLINE, *stages])
    return inside[-1]


class TimmTaps(nn.Module):
    """`pool` is what the classifier reads, `grid` the last map; others are modules by name, such as timm's stages."""

    def __init__(self, network: str, model: nn.Module, outputs: Sequence[str]) -> None:
        super().__init__()
        self.network, self.model, self.outputs = network, model, tuple(outputs)
        self.seen: dict[str, Tensor] = {}
        modules = dict(model.named_modules())
        for name in outputs:
            if name not in HEADLINE and name not in modules:
                stages = [stage["module"] for stage in getattr(model, "feature_info", [])]
                raise UnknownOutputError(network, [name], [*HEADLINE, *stages])
            if name not in HEADLINE:
                modules[name].register_forward_hook(self._keeper(name))

    def _keeper(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        def keep(_module: nn.Module, _inputs: Any, output: Any) -> None:
            self.seen[name] = output

        return keep

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        model: Any = self.model
        features = model.forward_features(batch)
        found = {**self.seen, "grid": features}
        self.seen.clear()
        if "pool" in self.outputs:
            found["pool"] = model.forward_head(features, pre_logits=True)
        return {name: self._tap(name, found[name]).contiguous() for name in self.outputs}

    def _tap(self, name: str, tensor: Any) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise ExtractorError(f"'{self.network}' gives several tensors for '{name}'; take another output")
        if name == "pool":
            return tensor
        rows = with_channels_last(tensor, self.model)
        if name == "grid" and rows.dim() != 4:
            raise ExtractorError(f"'{self.network}' has no map of its picture; its outputs are pool and its modules")
        return rows


def with_channels_last(tensor: Tensor, model: Any) -> Tensor:
    """Maps of whatever layout as (B, H, W, C); tokens are put back where their patches were."""
    if tensor.dim() == 4:
        return tensor if getattr(model, "output_fmt", "NCHW") == "NHWC" else tensor.movedim(1, -1)
    sizes = getattr(getattr(model, "patch_embed", None), "grid_size", None)
    first = getattr(model, "num_prefix_tokens", 0)  # class and register tokens come first
    if tensor.dim() != 3 or sizes is None or tensor.shape[1] != first + sizes[0] * sizes[1]:
        return tensor
    return tensor[:, first:].unflatten(1, tuple(sizes))


def _unknown(network: str, name: str, known: Sequence[str]) -> ExtractorError:
    close = difflib.get_close_matches(name, known, n=5) or list(known[:5])
    return ExtractorError(f"there is no network '{network}'; close to it: {', '.join(close)}")
