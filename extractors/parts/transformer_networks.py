"""Networks of transformers, made of their own configuration, which is data: no code of a publisher is ever loaded."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from extractors.base import ExtractorError, MissingPackageError, UnknownOutputError
from extractors.parts.transformer_architectures import ARCHITECTURES, Architecture

LIBRARY = "transformers"
# Of a configuration: code of the publisher's, by name or address. It is nothing that features could depend on.
FOREIGN_CODE = ("auto_map", "custom_pipelines", "attn_implementation", "_attn_implementation")


def library(network: str) -> ModuleType:
    try:
        return importlib.import_module(LIBRARY)
    except ImportError as error:
        raise MissingPackageError(network, package=LIBRARY, extra=LIBRARY) from error


def architecture(network: str) -> Architecture:
    """Of `transformers:MODEL_TYPE`."""
    name, _, model_type = network.partition(":")
    if name != LIBRARY or model_type not in ARCHITECTURES:
        allowed = ", ".join(ARCHITECTURES)
        raise ExtractorError(f"the network is '{network}'; write {LIBRARY}:MODEL_TYPE, with one of {allowed}")
    return ARCHITECTURES[model_type]


def configured(network: str, facts: Mapping[str, Any]) -> Any:
    """The configuration that config.json states; what it does not state is transformers' own default."""
    kind, given = architecture(network), without_foreign_code(facts)
    model_type = plain_type(str(given.get("model_type") or network.partition(":")[2]))
    if model_type != network.partition(":")[2]:
        raise ExtractorError(f"the configuration is of '{model_type}', the network is '{network}'")
    inside = kind.section in given or f"{kind.section}_dict" in given
    class_ = getattr(library(network), kind.whole if inside else kind.config)
    try:
        whole = class_.from_dict(given)
        return getattr(whole, kind.section) if inside else whole
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ExtractorError(f"this is no configuration of {network}: {error}") from error


def plain_type(model_type: str) -> str:
    """A tower that is published alone, such as `clip_vision_model`, is the same network."""
    return model_type.removesuffix("_vision_model").removesuffix("_audio_model")


def without_foreign_code(facts: Mapping[str, Any]) -> dict[str, Any]:
    """At every depth: attention can be given as the address of a kernel, which transformers would fetch and run."""
    return {
        name: without_foreign_code(value) if isinstance(value, Mapping) else value
        for name, value in facts.items()
        if name not in FOREIGN_CODE
    }


def bare_model(network: str, config: Any) -> nn.Module:
    """Untrained, and without what no feature needs."""
    kind = architecture(network)
    class_ = getattr(library(network), kind.model)
    try:
        model = class_(config)
    except (TypeError, ValueError, KeyError, RuntimeError, ArithmeticError) as error:
        raise ExtractorError(f"no {network} can be made of this configuration: {error}") from error
    return reduced(model, kind)


def reduced(model: nn.Module, kind: Architecture) -> nn.Module:
    for name in kind.without:
        delattr(model, name)
    return model


def fitted_state(network: str, config: Any, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The whole state of the network from a publisher's tensors, by transformers' own rules for older names and for
    networks with another head; an error when one is missing or has another shape."""
    kind, transformers = architecture(network), library(network)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        model, notes = getattr(transformers, kind.model).from_pretrained(
            None,
            config=config,
            state_dict=dict(tensors),
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        raise ExtractorError(f"transformers cannot load these tensors as {network}: {error}") from error
    lacking = sorted(name for name in notes["missing_keys"] if name.split(".")[0] not in kind.without)
    unlike = sorted(str(each[0]) for each in notes["mismatched_keys"])
    if lacking or unlike:
        raise ExtractorError(
            f"these are not the weights of {network} with this configuration: {len(lacking)} tensors are missing"
            f"{_first(lacking)}, {len(unlike)} have another shape{_first(unlike)}"
        )
    return {name: tensor.detach() for name, tensor in reduced(model, kind).state_dict().items()}


def _first(names: Sequence[str]) -> str:
    return f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""


def remember_positions(network: TransformerNetwork, picture: Sequence[int]) -> None:
    """transformers computes DINOv3's positions once for a size of pictures and keeps them for all networks: that must
    not happen in a pass that tells shapes and has no numbers."""
    if hasattr(network.model, "rope_embeddings"):
        network.model.rope_embeddings(torch.zeros(1, *picture))


class TransformerNetwork(nn.Module):
    """The wanted ones of `pool`, `embed`, `tokens` and `hidden.N`; N = 0 is what the first layer is given."""

    def __init__(self, model: nn.Module, *, network: str, outputs: Sequence[str], tokens: int | None = None) -> None:
        super().__init__()
        self.model: Any = model
        self.name, self.names = network, tuple(outputs)
        self.kind = architecture(network)
        self.tokens = tokens  # the first ones, where those behind are of sound that nobody made
        self.asked = {"output_hidden_states": True} if any(name.startswith("hidden.") for name in outputs) else {}

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        found, pool, embed = self.kind.run(self.model, inputs, **self.asked)
        layers = {"tokens": found.last_hidden_state}
        layers |= {f"hidden.{number}": each for number, each in enumerate(found.hidden_states or ())}
        rows = {name: self._stored(each) for name, each in layers.items()}
        if self.tokens is not None:
            pool = rows["tokens"].mean(1)
        known = {"pool": pool, **({} if embed is None else {"embed": embed}), **rows}
        if unknown := [name for name in self.names if name not in known]:
            raise UnknownOutputError(self.name, unknown, [*known, *([] if self.asked else ["hidden.N, of layer N"])])
        return {name: known[name].contiguous() for name in self.names}

    def _stored(self, layer: Tensor) -> Tensor:
        """Channels last: maps (B, C, H, W) are turned; X-CLIP's (B, T, N, C) are no maps."""
        is_map = layer.ndim == 4 and self.kind.takes != "clips"
        return layer.movedim(1, -1) if is_map else layer[:, : self.tokens]
