"""Runs that differ only by their seed, found by what they were trained with; one such run alone proves little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import record_sha256
from pipeline.runs.run_record import read_record

RUNS = Path("runs")


def groups_of_seeds(records: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Names of runs that were trained alike but for the seed, two or more each; from their run.json records."""
    alike: dict[str, list[str]] = {}
    for name, record in records.items():
        if "params" in record:
            alike.setdefault(_but_seed(record), []).append(name)
    return [names for names in alike.values() if len(names) > 1]


def siblings(name: str, *, runs: Path = RUNS) -> list[str]:
    """The run and those that differ from it only by seed, in the order of their seeds."""
    records = {file.parent.name: read_record(file.parent) for file in sorted(runs.glob("*/run.json"))}
    mine = next((names for names in groups_of_seeds(records) if name in names), [name])
    return sorted(mine, key=lambda one: (records.get(one, {}).get("params", {}).get("seed", 0), one))


def _but_seed(record: Mapping[str, Any]) -> str:
    """The features too: a store that was made anew is another experiment."""
    params = {key: value for key, value in record["params"].items() if key != "seed"}
    return record_sha256({"params": params, "features": record.get("features"), "max_words": record.get("max_words")})


def common_name(names: Sequence[str]) -> str:
    """`lstm_0, lstm_1` is `lstm`: what their names begin with, without the number."""
    shortest = min(names, key=len)
    same = next((n for n in range(len(shortest), 0, -1) if all(name.startswith(shortest[:n]) for name in names)), 0)
    return shortest[:same].rstrip("0123456789_-.").removesuffix("seed").rstrip("_-.") or names[0]
