"""Fetching published files, and taking those that the user has."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.core import Console, InputError, MissingToolError, UsageError
from pipeline.weights.bundles import assemble, part_of
from pipeline.weights.conversion import import_bytes, import_own
from pipeline.weights.converted import converted_path, status
from pipeline.weights.download import download
from pipeline.weights.instructions import DOWNLOADS, conditions, how_to_get
from pipeline.weights.lookup import entry, with_parts
from pipeline.weights.packages import carried_file
from pipeline.weights.reading import LIMIT
from pipeline.weights.registry import WEIGHTS_FOLDER, WeightsSource
from pipeline.weights.transformers_folder import import_folder
from pipeline.weights.transformers_hub import fetch_folder

QUIET = Console(quiet=True)


def fetch(name: str, *, folder: Path = WEIGHTS_FOLDER, accept_licence: bool = False, console: Console = QUIET) -> Path:
    """Bring what is missing and convert it. The only function here that uses a network."""
    if status(name, folder=folder) == "present":
        return converted_path(name, folder=folder)
    require_accepted(name, accepted=accept_licence)
    with _alone(folder / DOWNLOADS):
        for part in with_parts(name):
            if status(part, folder=folder) != "present":
                fetch_part = fetch_folder if entry(part).is_folder else _fetch_one
                fetch_part(part, folder=folder, console=console)
    return assemble(name, folder=folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two commands that fetch the same file would write into the same part of it: the second waits for the first."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _fetch_one(name: str, *, folder: Path, console: Console) -> None:
    """From the first source that can be reached."""
    downloads, problems = folder / DOWNLOADS, []
    for source in entry(name).sources:
        try:
            published = _bring(source, folder=downloads, console=console)
        except MissingToolError as error:
            problems.append(f"  {error.message}")
            continue
        import_bytes(name, published, file_name=source.file_name, folder=folder)
        return
    raise MissingToolError(
        "\n".join([f"the weights '{name}' could not be fetched", *problems, how_to_get(name, folder=folder)]),
        hint=f"framescribe weights import {name} {downloads / entry(name).sources[0].file_name}",
    )


def _bring(source: WeightsSource, *, folder: Path, console: Console) -> bytes:
    """The file's bytes: put there by the user, from the package that carries it, or from its address."""
    target = folder / source.file_name
    if target.is_file():
        return read_file(target)
    if source.package is not None:
        return carried_file(source.package)
    if source.by_hand:
        raise MissingToolError(f"{source.url}: {source.by_hand}")
    download(source.url, target, size=source.size, console=console)
    published = read_file(target)
    target.unlink()  # a wrong file would be in the way of the right one, and a right one is converted now
    return published


def import_files(
    name: str,
    files: Sequence[Path],
    *,
    folder: Path = WEIGHTS_FOLDER,
    accept_licence: bool = False,
    trust: bool = False,
) -> Path:
    """Convert files that the user has; for a bundle, each as the part that it is."""
    require_accepted(name, accepted=accept_licence)
    if entry(name).is_folder:
        return import_folder(name, _the_folder(name, files), into=folder)
    for file in files:
        published = read_file(file)
        part = part_of(name, published, file_name=file.name)
        import_bytes(part, published, file_name=file.name, folder=folder, trust=trust)
    return assemble(name, folder=folder)


def import_own_file(name: str, file: Path, *, network: str, folder: Path = WEIGHTS_FOLDER) -> Path:
    """Take a file of the user's own under the user's name for it."""
    return import_own(name, read_file(file), network=network, file_name=file.name, folder=folder)


def _the_folder(name: str, files: Sequence[Path]) -> Path:
    if len(files) != 1 or not files[0].is_dir():
        given = ", ".join(map(str, files)) or "nothing"
        raise InputError(f"'{name}' is made of one folder, with {entry(name).sources[0].file_name}; given: {given}")
    return files[0]


def read_file(file: Path) -> bytes:
    if not file.is_file():
        raise InputError(f"{file} is not a file" if file.exists() else f"no such file: {file}")
    if (size := file.stat().st_size) > LIMIT:
        raise InputError(f"{file} has {size:,} bytes; at most {LIMIT:,} are read")
    return file.read_bytes()


def require_accepted(name: str, *, accepted: bool) -> None:
    """Licences with conditions are shown, and accepted by the one who gets the file."""
    terms = conditions(name)
    if terms and not accepted:
        raise UsageError(
            "\n".join(["the licence of these weights has conditions", *(f"  {each}" for each in terms)]),
            hint="if you accept them, run the same command with --accept-licence",
        )
