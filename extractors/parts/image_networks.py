"""Image networks of timm and torchvision by name: the module, its taps, and the transform that its weights want.

Maps come out with channels last. Nothing here asks a hub: preprocessing is part of the installed libraries.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import timm
import torch
from timm.data import resolve_data_config
from torch import Tensor, nn
from torchvision.models import SwinTransformer, get_model, get_model_weights, list_models
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names
from torchvision.transforms import InterpolationMode
from torchvision.transforms._presets import ImageClassification

from extractors.base import ExtractorError, UnknownOutputError, load_weights
from extractors.parts.classes import take_classes_of
from extractors.parts.probing import without_arithmetic
from extractors.parts.publishers import (
    dinov2_positions,
    edition_of,
    publishers_network,
    publishers_pictures,
    publishers_resizing,
)
from extractors.parts.resizing import ResizeMethod
from extractors.parts.timm_taps import HEADLINE, TimmTaps

HEADS = ("fc", "classifier", "head", "heads")  # what torchvision calls the part behind the last map
BEFORE_THE_HEAD = 6  # nodes to look for the last map in
INTERPOLATIONS = {mode.value: mode for mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)}


class NamedNetwork(NamedTuple):
    module: nn.Module  # (B, 3, S, S) -> {output: rows}
    transform: ImageClassification
    resize: ResizeMethod
    facts: Mapping[str, Any]  # what else decides its numbers, and is not in its name


def named(
    network: str, *, outputs: Sequence[str], weights: Mapping[str, Tensor] | None, published: str = ""
) -> NamedNetwork:
    """The network with its transform. A name without a library is torchvision's.

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
) -> NamedNetwork:
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
    return NamedNetwork(TorchvisionTaps(network, model, outputs, size=transform.crop_size[0]), transform, "torch", {})


def torchvision_settings(name: str, *, trained: bool, side: int) -> dict[str, Any]:
    """What torchvision's own loader changes besides the weights."""
    if name in {"googlenet", "inception_v3"}:
        return {"init_weights": not trained, "transform_input": trained}  # trained on another scale of colours
    return {"image_size": side} if name.startswith("vit_") else {}


def _timm(
    network: str, name: str, outputs: Sequence[str], weights: Mapping[str, Tensor] | None, published: str
) -> NamedNetwork:
    name = f"{name.partition('.')[0]}.{published}" if published else name
    facts = timm_facts(network, name)
    edition = edition_of(facts)
    config = publishers_pictures(edition, resolve_data_config({}, pretrained_cfg=facts.to_dict()))
    transform = timm_transform(network, config)
    settings = publishers_network(edition, side=transform.crop_size[0], usual_side=facts.input_size[1])
    model: Any = timm.create_model(**{"model_name": name, "pretrained_cfg": facts, **settings})
    taps = TimmTaps(network, load(model, fitted(weights, model, edition), network=network), outputs, edition=edition)
    return NamedNetwork(taps, transform, publishers_resizing(edition), {"built_as": settings} if settings else {})


def timm_facts(network: str, name: str) -> Any:
    """The pretrained configuration of NETWORK or NETWORK.TAG."""
    if not timm.is_model(name):
        raise _unknown(network, name, timm.list_models())
    try:
        return timm.get_pretrained_cfg(name)
    except RuntimeError as error:  # the network is there, the tag is not
        raise _unknown(network, name, timm.list_pretrained(f"{name.partition('.')[0]}.*")) from error


def fitted(weights: Mapping[str, Tensor] | None, model: Any, edition: str) -> Mapping[str, Tensor] | None:
    """Weights with positions for the patches that the network gets."""
    if weights is None or "dinov2" not in edition or "pos_embed" not in weights:
        return weights
    side, registers = model.patch_embed.grid_size[0], "_reg" in edition
    return {**weights, "pos_embed": dinov2_positions(weights["pos_embed"], side=side, registers=registers)}


LIBRARIES: dict[str, Callable[..., NamedNetwork]] = {
    "timm": _timm,
    "torchvision": _torchvision,
}


def load(model: nn.Module, weights: Mapping[str, Tensor] | None, *, network: str) -> nn.Module:
    if weights is not None:
        take_classes_of(model, weights)  # of a fine-tuned one
        load_weights(model, weights, network=network)
    return model.eval()


def timm_transform(network: str, config: Mapping[str, Any]) -> ImageClassification:
    channels, size, width = config["input_size"]
    if (channels, width) != (3, size) or config["interpolation"] not in INTERPOLATIONS:
        raise ExtractorError(f"'{network}' takes pictures that are not prepared here: {dict(config)}")
    if config["crop_mode"] not in {"center", "squash"}:
        raise ExtractorError(f"'{network}' has the crop mode '{config['crop_mode']}'; known: center, squash")
    resize = math.floor(size / config["crop_pct"])
    transform = ImageClassification(
        crop_size=size,
        resize_size=resize,
        mean=config["mean"],
        std=config["std"],
        interpolation=INTERPOLATIONS[config["interpolation"]],
    )
    if config["crop_mode"] == "squash":
        transform.resize_size = [resize, resize]  # the constructor takes a short side only
    return transform


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


def _unknown(network: str, name: str, known: Sequence[str]) -> ExtractorError:
    close = difflib.get_close_matches(name, known, n=5) or list(known[:5])
    return ExtractorError(f"there is no network '{network}'; close to it: {', '.join(close)}")
