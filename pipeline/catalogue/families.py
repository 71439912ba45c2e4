"""Extractor families by name: a module of extractors/, or one that another installed package brings.

A package brings families through entry points, `[project.entry-points."framescribe.extractors"]`, each the name of a
family and the module that keeps the contract of `extractors.base`. Ours come first: a package cannot replace one.
"""

from __future__ import annotations

import importlib
import inspect
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

import extractors
from pipeline.core import MissingToolError, UsageError

if TYPE_CHECKING:
    from extractors.base import Takes

GROUP = "framescribe.extractors"
CONTRACT = ("VERSION", "TAKES", "build")
# Arguments of `build` that are no options
GIVEN_OTHERWISE = ("network", "outputs", "weights", "device", "window", "resize")


def family_module(family: str) -> ModuleType:
    name = f"extractors.{family}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            return _foreign_module(family)
        raise MissingToolError(f"the family '{family}' needs the package {error.name}", hint="install it") from error


def family_options(family: str) -> dict[str, Any]:
    """The family's own settings and their defaults."""
    parameters = inspect.signature(family_module(family).build).parameters
    return {name: each.default for name, each in parameters.items() if name not in GIVEN_OTHERWISE}


def takes_of(family: str, network: str) -> Takes:
    """What an extractor is given: most families take one thing; networks of some take different ones."""
    module = family_module(family)
    return module.takes_of(network) if hasattr(module, "takes_of") else module.TAKES


def can_resize(family: str) -> bool:
    """Whether the family can be told which library makes its frames smaller."""
    return "resize" in inspect.signature(family_module(family).build).parameters


def lookahead_of(family: str) -> int:
    """Frames that the family's rows need after their own; most need none and do not say so."""
    return getattr(family_module(family), "BEYOND", 0)


def code_of(family: str) -> int | str:
    """The version of the family's arithmetic; that of a foreign one also says whose, for names may meet again."""
    module = family_module(family)
    home = module.build.__module__
    return module.VERSION if home.split(".")[0] == "extractors" else f"{home} {module.VERSION}"


def source_folders(family: str) -> list[Path]:
    """Where the code lies that decides what the family builds: found without importing any of it."""
    folders = [*map(Path, extractors.__path__), Path(__file__).parents[1]]
    return folders if find_spec(f"extractors.{family}") else [*folders, *_package_of(_entry_point(family).module)]


def _package_of(module: str) -> list[Path]:
    """A package's folder, or the file of a single module."""
    spec = find_spec(module.partition(".")[0])
    if spec is None:
        return []
    return [Path(place) for place in spec.submodule_search_locations or [spec.origin or module]]


def known_families() -> list[str]:
    """Ours are the modules beside `base`; what they share is in `extractors.parts`."""
    ours = {module.name for module in iter_modules(extractors.__path__) if not module.ispkg} - {"base"}
    return sorted(ours | {point.name for point in entry_points(group=GROUP)})


def _foreign_module(family: str) -> ModuleType:
    point = _entry_point(family)
    try:
        module = point.load()
    except ImportError as error:
        raise MissingToolError(f"the family '{family}' ({point.value}) cannot be imported: {error}") from error
    by_network = {"TAKES": "takes_of"}
    lacking = [name for name in CONTRACT if not (hasattr(module, name) or hasattr(module, by_network.get(name, name)))]
    if lacking:
        raise UsageError(f"{point.value} is no extractor family: it lacks {', '.join(lacking)}")
    return module


def _entry_point(family: str) -> EntryPoint:
    found = {point.value: point for point in entry_points(group=GROUP, name=family)}
    if not found:
        raise UsageError(f"there is no extractor family '{family}'; known: {', '.join(known_families())}")
    if len(found) > 1:
        raise UsageError(f"several packages bring the family '{family}': {', '.join(sorted(found))}")
    return next(iter(found.values()))
