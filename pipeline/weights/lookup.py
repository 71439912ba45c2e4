"""Weights by any name that a user may write: of the registry, of a library, or of both together.

`vatex_regions:torchvision:maskrcnn_resnet50_fpn_v2` is a bundle with the weights of another detector.
"""

from __future__ import annotations

from pathlib import Path

from pipeline.core import UsageError
from pipeline.weights.libraries import published
from pipeline.weights.own import own_entry
from pipeline.weights.registry import NONE, RANDOM, REGISTRY, WEIGHTS_FOLDER, WITHOUT_FILE, Weights

DETECTOR = "detector."  # prefix in a bundle of regions


def entry(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Weights:
    """Of the registry, what a library publishes under LIBRARY:NETWORK, BUNDLE:WEIGHTS with that detector, or yours."""
    if name in REGISTRY:
        return REGISTRY[name]
    bundle, found, rest = name.partition(":")
    if found:
        return _with_detector(bundle, rest) if bundle in REGISTRY else published(name)
    if (own := own_entry(name, folder=folder)) is not None:
        return own
    raise UsageError(
        f"no weights are called '{name}'; known: {', '.join(REGISTRY)}, LIBRARY:NETWORK, and '{RANDOM}', '{NONE}'",
        hint=f"framescribe weights list, or, if they are yours: weights import {name} FILE --network LIBRARY:NETWORK",
    )


def fitting_options(name: str) -> dict[str, int | float | bool | str]:
    """What preprocessing the weights were made for, where it is not the usual one of their network."""
    return {} if name in WITHOUT_FILE else entry(name).options


def with_parts(name: str) -> list[str]:
    """The entry itself, or every entry that a bundle is made of."""
    return list(entry(name).parts) or [name]


def mebibytes(name: str) -> float | None:
    """Of the published file, or of all parts together; None when nobody says."""
    weights = entry(name)
    if not weights.parts:
        return weights.sources[0].about
    sizes = [mebibytes(part) for part in weights.parts]
    return sum(size for size in sizes if size) if all(sizes) else None


def _with_detector(bundle: str, detector: str) -> Weights:
    own = REGISTRY[bundle].parts
    if DETECTOR not in own.values():
        raise UsageError(f"'{bundle}:{detector}': '{bundle}' is no bundle with a detector to exchange")
    parts = {detector: DETECTOR} | {part: prefix for part, prefix in own.items() if prefix != DETECTOR}
    return Weights(
        description=f"{bundle} with the boxes of {detector}",
        licence=", ".join(dict.fromkeys(entry(part).licence for part in parts)),
        parts=parts,
    )
