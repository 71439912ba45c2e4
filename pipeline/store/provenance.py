"""Two fingerprints side by side: which fields differ, and whether that changes what the numbers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ROUNDING = ("device", "libraries", "decoders")  # move last digits; what a number means is decided by the other fields


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(field, left, right) of every field that differs; None stands for a field that is not there."""
    before, after = dict(_fields(left)), dict(_fields(right))
    names = sorted(before.keys() | after.keys())
    return [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def other_meaning(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The differences after which a model that learnt from the one cannot read the other."""
    return [each for each in differences(left, right) if each[0].partition(".")[0] not in ROUNDING]


def _fields(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
