"""What to do without a network, or without a direct address: file, folder and command."""

from __future__ import annotations

from pathlib import Path

from pipeline.core import MissingToolError
from pipeline.weights.lookup import entry, with_parts
from pipeline.weights.registry import WITHOUT_FILE, WeightsSource

DOWNLOADS = "downloads"  # folder in the weights folder where published files are put


def conditions(name: str) -> list[str]:
    """What the licences of the weights, or of a bundle's parts, ask of their user."""
    if name in WITHOUT_FILE:
        return []
    return [f"{part}: {entry(part).licence}. {entry(part).terms}" for part in with_parts(name) if entry(part).terms]


def fetch_command(name: str) -> str:
    accept = " --accept-licence" if conditions(name) else ""
    given = "FOLDER" if entry(name).is_folder else "FILE"
    return f"framescribe weights fetch {name}{accept}   (or: framescribe weights import {name} {given}{accept})"


def missing(name: str, *, state: str, folder: Path) -> MissingToolError:
    """Raised before anything is decoded."""
    path = folder / f"{name}.safetensors"
    return MissingToolError(
        f"the weights '{name}' are {state}: {path}\n{how_to_get(name, folder=folder)}", hint=fetch_command(name)
    )


def how_to_get(name: str, *, folder: Path) -> str:
    return "\n".join(_one(part, folder) for part in with_parts(name))


def _one(name: str, folder: Path) -> str:
    """Address, file name, hash, folder and licence of one entry's first source."""
    weights, source = entry(name), entry(name).sources[0]
    lines = [
        f"  {name} by hand: {source.url}{_why(source)}",
        f"    file    {source.file_name}  ({source.expected})",
        f"    folder  {folder / DOWNLOADS}",
        f"    licence {weights.licence}{f': {weights.terms}' if weights.terms else ''}",
    ]
    return "\n".join(lines)


def _why(source: WeightsSource) -> str:
    return f"  ({source.by_hand})" if source.by_hand else ""
