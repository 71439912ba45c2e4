"""Whether clips of one's own can be captioned by a run: known from its record, without loading any library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core import UsageError
from pipeline.params import Extract
from pipeline.runs import read_record


def require_extractable(record: Mapping[str, Any], run: Path, *, extractors: Mapping[str, Extract]) -> None:
    """Before anything is decoded: a class, or what was imported, nothing here can make of a video."""
    if any(facts["slot"] == "label" for facts in record["features"].values()):
        raise UsageError(
            f"'{run.name}' reads the class that the data set gives each video, and your own videos have none",
            hint="use a run whose features.label is none",
        )
    imported = _imported(record)
    if not imported:
        return
    others = [path.parent.name for path in sorted(run.parent.glob("*/run.json")) if path.parent != run]
    able = [name for name in others if _all_made_by(extractors, read_record(run.parent / name))]
    could = f"these runs can: {', '.join(able)}" if able else "train a run on features that `framescribe extract` makes"
    told = f"'{run.name}' was trained on imported features ({', '.join(imported)})"
    raise UsageError(
        f"{told}, which nothing here can make of a video",
        hint=f"{could}; of videos that the store has: framescribe caption {run.name} --ids FILE",
    )


def _imported(record: Mapping[str, Any]) -> list[str]:
    stores = {facts["store"] for facts in record["features"].values() if facts.get("fingerprint", {}).get("imported")}
    return sorted(stores)


def _all_made_by(extractors: Mapping[str, Extract], record: Mapping[str, Any]) -> bool:
    return not _imported(record) and all(facts["store"] in extractors for facts in record["features"].values())
