"""dvc.yaml against params.yaml: every entry writes out the keys that the graph names, for DVC has no defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline import params
from pipeline.doctor.check import Check

GRAPH = Path("dvc.yaml")
ITEM = re.compile(r"\$\{item\.([\w.]+)\}")


def check_graph() -> list[Check]:
    if not GRAPH.is_file():
        return []
    stages, values = params.read_yaml(GRAPH)["stages"], params.read_yaml(params.PARAMS_FILE)
    lacking = list(dict.fromkeys(missing_keys(stages, values)))
    if not lacking:
        return [
            Check(name="graph", state="ok", detail=f"{GRAPH} finds every key that it names in {params.PARAMS_FILE}")
        ]
    told = f"{params.PARAMS_FILE} lacks " + ", ".join(f"{entry}.{key}" for entry, key in lacking)
    added = ", ".join(sorted({f"{key}: {_nothing(key)}" for _, key in lacking}))
    fix = f"add to the entries in {params.PARAMS_FILE}: {added}"
    return [Check(name="graph", state="missing", detail=told, fix=fix, blocks="dvc repro")]


def _nothing(key: str) -> str:
    """What an entry says that does not use the key."""
    return params.NO_VECTORS if key == "word_vectors" else params.NO_RUN


def missing_keys(stages: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(entry, key) of what a stage with one branch per entry names and the entry does not have."""
    for stage in stages.values():
        if "foreach" not in stage:
            continue
        section = stage["foreach"].strip("${}")
        for name, entry in (values.get(section) or {}).items():
            lacking = [key for key in ITEM.findall(str(stage["do"])) if not _has(entry, key.split("."))]
            yield from ((f"{section}.{name}", key) for key in lacking)


def _has(entry: Any, path: list[str]) -> bool:
    for part in path:
        if not isinstance(entry, Mapping) or part not in entry:
            return False
        entry = entry[part]
    return True
