"""A mapping whose values are made each time they are asked for: its memory is that of its keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")


class Derived(Mapping[str, Value]):
    """`keys` may be the keys of another mapping."""

    def __init__(self, keys: Mapping[str, Any], make: Callable[[str], Value]) -> None:
        self._keys, self._make = keys, make

    def __getitem__(self, key: str) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
