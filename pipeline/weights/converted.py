"""Converted weights: one safetensors file per entry that says where it comes from and can check itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.core import DamageError
from pipeline.store import Spec, TensorFile, order, write_tensors
from pipeline.weights.instructions import fetch_command, missing
from pipeline.weights.lookup import entry, with_parts
from pipeline.weights.own import YOURS, own_network
from pipeline.weights.registry import (
    NONE,
    RANDOM,
    REGISTRY,
    WEIGHTS_FOLDER,
    WITHOUT_FILE,
    Digests,
    Weights,
    WeightsSource,
)

if TYPE_CHECKING:
    import torch

FIRST_USE = "none: trusted on first use"
WeightsStatus = Literal["present", "missing", "damaged"]


def converted_path(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Path:
    return folder / f"{name}.safetensors"


def status(name: str, *, folder: Path = WEIGHTS_FOLDER) -> WeightsStatus:
    """From the header alone, so it is quick; `verify` reads every byte."""
    weights = entry(name, folder=folder)
    if not converted_path(name, folder=folder).is_file():
        return "missing"
    return "present" if _is_of(weights, origin(name, folder=folder)) else "damaged"


def availability(weights: str) -> str:
    """The status of an entry in a word; of what has no file, what it is instead."""
    if weights in WITHOUT_FILE:
        return {RANDOM: "untrained", NONE: "not needed"}[weights]
    return status(weights) if weights in REGISTRY or own_network(weights) or ":" in weights else "unknown"


def is_ready(state: str) -> bool:
    """Whether nothing has to be fetched before an extractor can run as its paper says."""
    return state in {"present", "not needed"}


def origin(name: str, *, folder: Path = WEIGHTS_FOLDER) -> dict[str, str]:
    """What the conversion recorded of its source; nothing when there is no file, or no whole one."""
    try:
        metadata = TensorFile(converted_path(name, folder=folder)).metadata
    except DamageError:
        return {}
    return {key: value for key, value in metadata.items() if key != "header" and not key.startswith("check/")}


def own_weights(name: str, *, folder: Path = WEIGHTS_FOLDER) -> dict[str, str]:
    """The sha256 of the user's own file, by its name here; of a bundle, of its parts that are the user's."""
    if name in WITHOUT_FILE:
        return {}
    own = [part for part in with_parts(name) if entry(part, folder=folder).licence == YOURS]
    return {part: origin(part, folder=folder).get("origin_sha256", "unknown") for part in own}


def _is_of(weights: Weights, record: Mapping[str, str]) -> bool:
    """Whether the file was made from what the registry names today."""
    if weights.parts:
        return record.get("parts") == weights.composition
    if weights.is_folder:
        return "config" in record  # many files, each with its hash in the record
    return record.get("proof") == FIRST_USE or source_of(weights, record) is not None


def source_of(weights: Weights, record: Mapping[str, str]) -> WeightsSource | None:
    """The published file that the tensors were made of; None where no hash says so."""
    digests = Digests(record.get("origin_sha256", ""), record.get("origin_git_blob", ""))
    return next((source for source in weights.sources if source.proof(digests)), None)


def verify(name: str, *, folder: Path = WEIGHTS_FOLDER) -> WeightsStatus:
    """Hash every tensor; compare with what was recorded when the file was made, and with what is known of it anyway."""
    state = status(name, folder=folder)
    if state != "present":
        return state
    tensors = TensorFile(converted_path(name, folder=folder))
    specs = {key: tensors.spec(key) for key in tensors}
    try:
        found = tensors_sha256(specs, tensors.__getitem__)
    except DamageError:
        return "damaged"
    source = source_of(entry(name, folder=folder), tensors.metadata)
    known = {tensors.metadata.get("tensors_sha256"), (source and source.tensors_sha256) or found}
    return "present" if known == {found} else "damaged"


def load_weights(name: str, *, folder: Path = WEIGHTS_FOLDER) -> dict[str, torch.Tensor]:
    """The state dictionary of an entry, each tensor checked; missing weights stop with what to do."""
    import torch

    if (state := status(name, folder=folder)) != "present":
        raise missing(name, state=state, folder=folder)
    try:
        return {key: torch.from_numpy(array.copy()) for key, array in open_converted(name, folder=folder).items()}
    except DamageError as error:
        raise DamageError(error.message, hint=fetch_command(name)) from error


def open_converted(name: str, *, folder: Path) -> TensorFile:
    return TensorFile(converted_path(name, folder=folder))


def write_converted(
    name: str,
    specs: Mapping[str, Spec],
    tensor: Callable[[str], np.ndarray],
    *,
    folder: Path,
    record: Mapping[str, str],
) -> Path:
    path = converted_path(name, folder=folder)
    facts = {
        "licence": record.get("licence") or entry(name).licence,
        "tensors_sha256": tensors_sha256(specs, tensor),
        **record,
    }
    write_tensors(path, specs, tensor, metadata=facts)
    return path


def tensors_sha256(specs: Mapping[str, Spec], tensor: Callable[[str], np.ndarray]) -> str:
    """Over all tensors as their bytes lie in the file."""
    sha256 = hashlib.sha256()
    for key in order(specs):
        sha256.update(np.ascontiguousarray(tensor(key)).reshape(-1).view(np.uint8).data)
    return sha256.hexdigest()
