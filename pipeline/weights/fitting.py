"""Whether tensors are those of a network, by names and shapes, before anything is kept of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pipeline.core import InputError, MissingToolError, UsageError

if TYPE_CHECKING:
    import torch

SHOWN = 3  # names of each kind in a message
COUNTER = "num_batches_tracked"  # of batch normalisation; older files have none, and nothing is computed with it


def bare_network(network: str) -> Any:
    """The network without its numbers. Imported by name: weights depend on no family's code."""
    module, contract = (
        importlib.import_module("pipeline.weights.bare_networks"),
        importlib.import_module("extractors.base"),
    )
    try:
        return module.bare_network(network)
    except contract.MissingPackageError as error:
        raise MissingToolError(str(error), hint=f"pip install 'framescribe[{error.extra}]'") from error
    except contract.ExtractorError as error:
        raise UsageError(
            f"--network {network}: {error}",
            hint="write LIBRARY:NETWORK (timm:resnet50, torchvision:r3d_18), raft_small, or an entry of the registry",
        ) from error


def require_fit(state: Mapping[str, torch.Tensor], *, network: str, source: str) -> None:
    """An error in words when the network cannot load these tensors; a classifier may have classes of its own."""
    bare = bare_network(network)
    importlib.import_module("extractors.parts.classes").take_classes_of(bare, state)
    try:
        bare.load_state_dict({name: tensor.to("meta") for name, tensor in state.items()}, assign=True)
    except RuntimeError as error:
        expected = {name: tensor for name, tensor in bare.state_dict().items() if not name.endswith(COUNTER)}
        told = "; ".join(_differences(expected, state)) or str(error)
        raise InputError(
            f"{source} does not fit {network}: {told}", hint="nothing was kept; name the network that it was saved from"
        ) from error


def _differences(expected: Mapping[str, Any], state: Mapping[str, Any]) -> Iterable[str]:
    missing = [name for name in expected if name not in state]
    unknown = [name for name in state if name not in expected and not name.endswith(COUNTER)]
    other = [
        f"{name} is {tuple(state[name].shape)}, not {tuple(expected[name].shape)}"
        for name in expected
        if name in state and state[name].shape != expected[name].shape
    ]
    if missing:
        yield f"it lacks {len(missing)} of {len(expected)} tensors ({_some(missing)})"
    if unknown:
        yield f"the network has none of its {len(unknown)} tensors {_some(unknown)}"
    if other:
        yield f"{len(other)} of other shapes: {_some(other)}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
