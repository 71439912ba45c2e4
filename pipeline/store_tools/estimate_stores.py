"""What `extract` will need on disk, as a table, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console
from pipeline.extraction import estimate, planned_task, shortages
from pipeline.index import read_index
from pipeline.params import load_params, pick
from pipeline.store import FEATURES


def show_estimates(names: Sequence[str], *, index: Path, device: str, console: Console) -> dict[str, Any]:
    """Of the entries of `extract` named, or of all."""
    known, videos = load_params().extract, read_index(index)
    tasks = [planned_task(name, pick(known, name, kind="extractor"), device=device) for name in names or known]
    found = [estimate(task, videos, out=FEATURES / task.name) for task in tasks]
    table = [(e.name, e.videos, e.cached, e.rows, _megabytes(e.shards), _megabytes(e.to_cache)) for e in found]
    console.table(("extractor", "videos", "cached", "rows", "store MB", "cache will grow MB"), table)
    warnings = list(shortages(found))
    for warning in warnings:
        console.say(f"warning: {warning}")
    facts = {e.name: {"videos": e.videos, "cached": e.cached, "rows": e.rows, "store": e.shards} for e in found}
    return {"stores": facts, "to_cache": sum(e.to_cache for e in found), "warnings": warnings}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.2f}"
