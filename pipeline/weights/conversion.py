"""From the bytes of a published file to converted weights: prove them, read them, map their names, keep them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.core import InputError
from pipeline.store import spec_of
from pipeline.weights.converted import FIRST_USE, converted_path, origin, write_converted
from pipeline.weights.fitting import bare_network, require_fit
from pipeline.weights.lookup import entry
from pipeline.weights.own import YOURS, layout_of, plain_state, require_own_name
from pipeline.weights.reading import LIMIT, read_published
from pipeline.weights.registry import REGISTRY, WEIGHTS_FOLDER, Digests, Weights, WeightsSource

if TYPE_CHECKING:
    import torch

CHECKED = (*REGISTRY, "timm:", "torchvision:", "pytorchvideo:")  # beginnings of names whose network can be made here


def import_bytes(
    name: str, published: bytes, *, file_name: str = "", folder: Path = WEIGHTS_FOLDER, trust: bool = False
) -> Path:
    """Prove the published file by its hash before anything looks into it, then keep it as safetensors."""
    weights, digests = entry(name), Digests.of(published)
    source, proof = identify(weights, digests, file_name=file_name, trust=trust)
    if proof == FIRST_USE:
        _require_same_as_first(name, digests, folder=folder)
    shown = file_name or source.file_name
    tree = read_published(published, layout=source.layout, source=shown)
    state = _state_of(weights.mapping, tree, source=shown)
    if proof == FIRST_USE and (trust or name in REGISTRY) and name.startswith(CHECKED):
        require_fit(state, network=name, source=shown)
    record = {"origin_sha256": digests.sha256, "origin_git_blob": digests.git_blob, "proof": proof}
    return _keep(name, state, folder=folder, record=record, source=shown)


def import_own(name: str, data: bytes, *, network: str, file_name: str, folder: Path = WEIGHTS_FOLDER) -> Path:
    """Keep a file that nobody published, once the network can load it; nothing is kept otherwise."""
    require_own_name(name)
    digests = Digests.of(data)
    _require_same_as_first(name, digests, folder=folder)
    known = {*bare_network(network).state_dict()}
    tree = read_published(data, layout=layout_of(file_name), source=file_name)
    mapping = REGISTRY[network].mapping if network in REGISTRY else ""
    state = _state_of(mapping, plain_state(tree, known=known), source=file_name)
    require_fit(state, network=network, source=file_name)
    record = {"licence": YOURS, "network": network, "file": file_name, "origin_sha256": digests.sha256, "proof": YOURS}
    return _keep(name, state, folder=folder, record=record, source=file_name)


def _keep(
    name: str, state: Mapping[str, torch.Tensor], *, folder: Path, record: Mapping[str, str], source: str
) -> Path:
    arrays = {key: _numpy(value, name=key, source=source) for key, value in state.items()}
    specs = {key: spec_of(array) for key, array in arrays.items()}
    return write_converted(name, specs, arrays.__getitem__, folder=folder, record=record)


def _numpy(tensor: torch.Tensor, *, name: str, source: str) -> np.ndarray:
    import torch

    wide = tensor.float() if tensor.dtype == torch.bfloat16 else tensor  # numpy has no bfloat16
    try:
        return wide.detach().contiguous().numpy()
    except (TypeError, RuntimeError) as error:
        told = f"{tensor.layout}, {tensor.dtype}".replace("torch.", "")
        raise InputError(f"{source}: '{name}' is {told}, which is not kept", hint="save it as dense float32") from error


def identify(weights: Weights, digests: Digests, *, file_name: str, trust: bool = False) -> tuple[WeightsSource, str]:
    """The source that these bytes are, and what proves it."""
    for source in weights.sources:
        if proof := source.proof(digests):
            return source, proof
    for source in weights.sources:
        if not source.has_hash and source.file_name == file_name:
            return source, FIRST_USE
    first = weights.sources[0]
    if trust:
        layout = "safetensors" if file_name.endswith(".safetensors") else first.layout
        return first.model_copy(update={"layout": layout}), FIRST_USE
    known = "; ".join(f"{source.file_name} ({source.expected})" for source in weights.sources)
    raise InputError(
        f"{file_name or 'the file'} is none of the published files: its sha256 is {digests.sha256}; expected {known}",
        hint=f"download it again from {first.url}, or, if you trust it, import it with --trust",
    )


def _require_same_as_first(name: str, digests: Digests, *, folder: Path) -> None:
    first = origin(name, folder=folder).get("origin_sha256", digests.sha256)
    if first != digests.sha256:
        raise InputError(
            f"'{name}' was first made of a file with sha256 {first}; this one has {digests.sha256}, "
            "and no published hash says which is right",
            hint=f"remove {converted_path(name, folder=folder)} to trust this one",
        )


def _state_of(mapping: str, tree: Any, *, source: str) -> Mapping[str, torch.Tensor]:
    import torch

    state = _map(mapping, tree, source=source) if mapping else tree
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise InputError(f"{source} is not a state dictionary: its values are not all tensors")
    if bare := [str(name) for name, value in state.items() if not isinstance(name, str) or value.is_meta]:
        raise InputError(f"{source} is not a state dictionary: '{bare[0]}' is no name, or has no numbers")
    _require_small(state, source)
    return state


def _map(mapping: str, tree: Any, *, source: str) -> Mapping[str, torch.Tensor]:
    """By our own names; the family's module knows the published ones."""
    module = importlib.import_module(f"extractors.{mapping}")
    try:
        return module.map_published(tree)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        stated = f"{type(error).__name__}: {error}"
        raise InputError(f"{source} does not have the tensors that {mapping} expects ({stated})") from error


def _require_small(state: Mapping[str, torch.Tensor], source: str) -> None:
    """A tensor can claim more numbers than its file has bytes: one number, repeated by a stride of zero."""
    size = sum(value.numel() * value.element_size() for value in state.values())
    if size > LIMIT:
        raise InputError(f"the tensors of {source} would take {size:,} bytes; at most {LIMIT:,} are read")
