"""From a run's params to a model: the model's name is its module in models/."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any

from models.base import Captioner, Input
from pipeline.errors import UsageError

GIVEN = ("vocabulary", "sizes")  # decided by the data, not by params


def build_captioner(name: str, *, vocabulary: int, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Captioner:
    build = _module(name).build
    known = [parameter for parameter in inspect.signature(build).parameters if parameter not in GIVEN]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"{name} has no option {', '.join(unknown)}; known options: {', '.join(known)}")
    try:
        return build(vocabulary=vocabulary, sizes=dict(sizes), **options)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error


def require_stages(model: Captioner, stages: Iterable[str]) -> None:
    """Said before training, not when the stage's turn comes."""
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
    import models

    names = [info.name for info in pkgutil.iter_modules(models.__path__)]
    return [name for name in names if hasattr(importlib.import_module(f"models.{name}"), "build")]


def _module(name: str) -> Any:
    if name not in known_models():
        raise UsageError(f"there is no model '{name}'; known: {', '.join(known_models())}")
    return importlib.import_module(f"models.{name}")
