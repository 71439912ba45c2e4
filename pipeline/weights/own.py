"""Weights of the user's: a file that nobody published, under a name of the user's, for a network that is known here.

What was said at import (the network) and seen (the file's sha256) is in the header of the converted file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core import DamageError, InputError, UsageError
from pipeline.store import TensorFile
from pipeline.weights.registry import REGISTRY, WEIGHTS_FOLDER, WITHOUT_FILE, Weights, WeightsSource

if TYPE_CHECKING:
    import torch

YOURS = "yours"  # what proves it: the user says so
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
LAYOUTS = {".pth": "torch", ".pt": "torch", ".bin": "torch", ".ckpt": "torch", ".tar": "torch"} | {
    ".safetensors": "safetensors"
}
CHECKPOINTS = ("state_dict", "model_state_dict", "model_state", "model")  # where training code puts the state
PREFIXES = ("module.", "model.", "backbone.", "_orig_mod.")  # names of wrappers


def require_own_name(name: str) -> None:
    if name in REGISTRY or name in WITHOUT_FILE or not NAME.fullmatch(name):
        why = "the registry's" if name in REGISTRY else "not a name of letters, digits, _ and -"
        raise UsageError(f"'{name}' is {why}; give your weights a name of your own", hint="such as my_resnet50")


def own_network(name: str, *, folder: Path = WEIGHTS_FOLDER) -> str:
    """What the user's weights of that name are for; empty when there are none."""
    return _header(name, folder).get("network", "")


def own_entry(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Weights | None:
    """As an entry of the registry would be; None when the user has imported nothing under that name."""
    header = _header(name, folder)
    if "network" not in header:
        return None
    source = WeightsSource(
        url="a file of your own", name=header["file"], by_hand="only you have it", sha256=header["origin_sha256"]
    )
    description = f"{YOURS}, for {header['network']}, sha256 {header['origin_sha256']}"
    return Weights(description=description, licence=YOURS, sources=(source,))


def own_names(folder: Path = WEIGHTS_FOLDER) -> list[str]:
    names = [path.stem for path in sorted(folder.glob("*.safetensors"))]
    return [name for name in names if name not in REGISTRY and own_network(name, folder=folder)]


def _header(name: str, folder: Path) -> Mapping[str, str]:
    """A folder for transformers says its network too, under a name that begins with the library."""
    if not NAME.fullmatch(name):
        return {}
    try:
        return TensorFile(folder / f"{name}.safetensors").metadata
    except (DamageError, FileNotFoundError):
        return {}


def layout_of(file_name: str) -> str:
    ending = Path(file_name).suffix
    if ending not in LAYOUTS:
        raise InputError(f"{file_name} ends in '{ending}'; read are {', '.join(LAYOUTS)}")
    return LAYOUTS[ending]


def plain_state(tree: Any, *, known: set[str]) -> Any:
    """The state dictionary inside a checkpoint, free of the names of its wrappers."""
    for _ in CHECKPOINTS:  # one inside another; a tree that contains itself ends here too
        inside = [key for key in CHECKPOINTS if isinstance(tree, Mapping) and isinstance(tree.get(key), Mapping)]
        tree = tree[inside[0]] if inside else tree
    while isinstance(tree, Mapping) and not known & tree.keys() and (prefix := _common_prefix(tree)):
        tree = {str(name).removeprefix(prefix): tensor for name, tensor in tree.items()}
    return tree


def _common_prefix(state: Mapping[str, torch.Tensor]) -> str:
    return next((each for each in PREFIXES if state and all(str(name).startswith(each) for name in state)), "")
