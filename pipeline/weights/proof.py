"""Whether tensors are the published ones, whichever of them a thousandth would be off.

The published file was proven by its hash when it was converted, and what the conversion made of it was hashed then.
`tensors_sha256` of a source is that second hash, where we have seen the file: it needs no record on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline.store import spec_of
from pipeline.weights.converted import origin, source_of, status, tensors_sha256
from pipeline.weights.lookup import entry
from pipeline.weights.registry import WEIGHTS_FOLDER

if TYPE_CHECKING:
    import torch


class WeightsProof(NamedTuple):
    holds: bool
    told: str  # what they are, or what is wrong


def prove_tensors(
    name: str, tensors: Mapping[str, torch.Tensor], *, folder: Path = WEIGHTS_FOLDER, whole: str = ""
) -> WeightsProof:
    """Of an entry, tensor by tensor; of a bundle, of each part. `whole` is the bundle that a part was taken from."""
    parts = entry(name, folder=folder).parts
    if parts:
        each = {part: _of_part(prefix, tensors, parts.values()) for part, prefix in parts.items()}
        return _together([prove_tensors(part, found, folder=folder, whole=name) for part, found in each.items()])
    if whole and status(name, folder=folder) != "present":
        return WeightsProof(False, f"{name}, of which {whole} was made, is no longer here to be compared with")
    return _prove(name, tensors, record=origin(name, folder=folder), folder=folder)


def _together(proofs: Sequence[WeightsProof]) -> WeightsProof:
    """What is wrong, or else what they all are."""
    holds = all(each.holds for each in proofs)
    return WeightsProof(holds, "; ".join(dict.fromkeys(each.told for each in proofs if each.holds == holds)))


def _of_part(prefix: str, tensors: Mapping[str, torch.Tensor], prefixes: Iterable[str]) -> dict[str, torch.Tensor]:
    """Under the prefix and under no other; one part of a bundle may have none."""
    others = tuple(each for each in prefixes if each.startswith(prefix) and each != prefix)
    here = {key: tensor for key, tensor in tensors.items() if key.startswith(prefix) and not key.startswith(others)}
    return {key.removeprefix(prefix): tensor for key, tensor in here.items()}


def _prove(name: str, tensors: Mapping[str, torch.Tensor], *, record: Mapping[str, str], folder: Path) -> WeightsProof:
    arrays = {key: tensor.numpy() for key, tensor in tensors.items()}
    found = tensors_sha256({key: spec_of(array) for key, array in arrays.items()}, arrays.__getitem__)
    weights = entry(name, folder=folder)
    source = source_of(weights, record)
    known = source.tensors_sha256 if source else None
    if found != (expected := known or record["tensors_sha256"]):
        told = f"the tensors of {name} have sha256 {found[:12]}..., those of the published file {expected[:12]}..."
        return WeightsProof(False, told)
    if source:
        by = "tensor by tensor" if known else f"{record['proof']} of their file"
        return WeightsProof(True, f"published ({by})")
    if all(each.has_hash for each in weights.sources):
        return WeightsProof(False, f"{name} is none of the published files: it was imported with --trust")
    return WeightsProof(True, "as first imported: nobody published a hash")
