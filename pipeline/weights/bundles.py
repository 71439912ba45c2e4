"""Bundles: one file of several entries, each under a prefix, for an extractor of several networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.core import DamageError, InputError, MissingToolError
from pipeline.weights.conversion import identify
from pipeline.weights.converted import converted_path, open_converted, status, write_converted
from pipeline.weights.instructions import fetch_command, how_to_get
from pipeline.weights.lookup import entry, with_parts
from pipeline.weights.registry import WEIGHTS_FOLDER, Digests


def assemble(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Path:
    """Write a bundle out of its parts; an entry that is no bundle is whole by itself."""
    _require_parts(name, folder=folder)
    parts = entry(name).parts
    if not parts:
        return converted_path(name, folder=folder)
    files = {part: open_converted(part, folder=folder) for part in parts}
    places = {f"{parts[part]}{key}": (file, key) for part, file in files.items() for key in file}
    specs = {long: file.spec(key) for long, (file, key) in places.items()}

    def tensor(long: str) -> np.ndarray:
        file, key = places[long]
        return file[key]

    try:
        return write_converted(name, specs, tensor, folder=folder, record={"parts": entry(name).composition})
    except DamageError as error:
        raise DamageError(error.message, hint=f"remove that file, then: {fetch_command(name)}") from error


def _require_parts(name: str, *, folder: Path) -> None:
    absent = [part for part in with_parts(name) if status(part, folder=folder) != "present"]
    if absent:
        ways = [how_to_get(part, folder=folder) for part in absent]
        raise MissingToolError(
            "\n".join([f"'{name}' still lacks {', '.join(absent)}", *ways]),
            hint=f"framescribe weights import {name} FILE ...",
        )


def part_of(name: str, published: bytes, *, file_name: str) -> str:
    """The entry among a bundle's parts whose published file this is."""
    if not entry(name).parts:
        return name
    digests = Digests.of(published)
    for part in with_parts(name):
        try:
            identify(entry(part), digests, file_name=file_name)
        except InputError:
            continue
        return part
    raise InputError(f"{file_name} is a published file of no part of '{name}': {', '.join(with_parts(name))}")
