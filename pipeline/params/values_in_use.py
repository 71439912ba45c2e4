"""The values of params.yaml that a stage runs with, and whether the file still says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core import FramescribeError
from pipeline.params.file import PARAMS_FILE, Params, load_params


@dataclass(frozen=True)
class ParamsInUse:
    """Called, it tells what changed since: values, not bytes, and those of no other stage."""

    keys: tuple[str, ...]  # as `params:` in dvc.yaml names them
    values: Mapping[str, Any]

    def __call__(self) -> Sequence[str]:
        try:
            now = _values(load_params(), self.keys)
        except FramescribeError as error:
            return [f"{PARAMS_FILE}, which cannot be used now ({error.message})"]
        changed = [key for key in sorted({*self.values, *now}) if _shown(self.values, key) != _shown(now, key)]
        return [f"{key} in {PARAMS_FILE}: {_shown(self.values, key)} -> {_shown(now, key)}" for key in changed]


def params_in_use(params: Params, *keys: str) -> ParamsInUse:
    return ParamsInUse(keys, _values(params, keys))


def _values(params: Params, keys: Sequence[str]) -> dict[str, Any]:
    """Every single value below the keys, by its dotted name; a section that is gone has none."""
    return {name: value for key in keys for name, value in _below(key, _at(params.model_dump(), key.split(".", 1)))}


def _at(values: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        values = values.get(part, {}) if isinstance(values, dict) else {}
    return values


def _below(name: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(name, value)]
    return [pair for key, below in value.items() for pair in _below(f"{name}.{key}", below)]


def _shown(values: Mapping[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "not there"
