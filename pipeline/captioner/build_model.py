"""From a run's params to a model: the model's name is its module in models/."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any

import models
from models.base import Captioner, Input
from pipeline.core import UsageError

GIVEN = ("vocabulary", "sizes")  # decided by the data, not by params
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def build_captioner(name: str, *, vocabulary: int, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Captioner:
    build = _module(name).build
    _require_known(name, build, options)
    try:
        return build(vocabulary=vocabulary, sizes=dict(sizes), **options)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error


def _require_known(name: str, build: Any, options: Mapping[str, Any]) -> None:
    """Options that the model has, each of the kind of its default."""
    known = {each.name: each.default for each in inspect.signature(build).parameters.values() if each.name not in GIVEN}
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"{name} has no option {', '.join(unknown)}; known options: {', '.join(known)}")
    for option, value in options.items():
        kind = type(known[option])
        if type(value) is not kind and (kind, type(value)) != (float, int):
            raise UsageError(f"{name}: {option} is {value!r}, which must be {KINDS[kind]}, e.g. {known[option]!r}")
        if option.endswith("_size") and value < (least := min(known[option], 1)):
            raise UsageError(f"{name}: {option} is {value}, allowed: {least} or more")


def require_stages(model: Captioner, stages: Iterable[str]) -> None:
    """Refused before training, not when the stage's turn comes."""
    for stage in stages:
        if stage and stage not in model.stages:
            raise UsageError(f"the model has no stage '{stage}'; it has: {', '.join(sorted(model.stages)) or 'none'}")


def inputs_of(name: str, tensors: Mapping[str, str] | None = None) -> Mapping[str, Input]:
    """What a model reads; `tensors` renames what it takes from a store."""
    inputs = dict(_module(name).build.inputs)
    for chosen, tensor in (tensors or {}).items():
        if chosen not in inputs:
            raise UsageError(f"{name} has no input '{chosen}'; it has: {', '.join(inputs)}")
        inputs[chosen] = inputs[chosen]._replace(tensor=tensor)
    return inputs


def known_models() -> list[str]:
    """Modules of models/ but the contract; what models share is below models/parts/."""
    return [info.name for info in pkgutil.iter_modules(models.__path__) if not info.ispkg and info.name != "base"]


def _module(name: str) -> Any:
    if name not in known_models():
        raise UsageError(f"there is no model '{name}'; known: {', '.join(known_models())}")
    return importlib.import_module(f"models.{name}")
