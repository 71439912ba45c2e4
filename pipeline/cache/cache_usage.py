"""How large the cache is, and making it smaller, as `framescribe cache` shows both."""

from __future__ import annotations

import time
from typing import Any

from pipeline.cache.feature_cache import DAY, collect, entries
from pipeline.core import Console, cache_folder, cache_root

KINDS = ("features", "graphs", "shards")  # of entries


def show_usage(console: Console) -> dict[str, Any]:
    """Entries and bytes of each kind, and the bytes of all other folders."""
    everything = entries()
    features, graphs, shards = ([each for each in everything if each.kind == kind] for kind in KINDS)
    size, graphs_size, shards_size = (sum(entry.bytes for entry in some) for some in (features, graphs, shards))
    ages = [round((time.time() - entry.used) / DAY, 2) for entry in features]
    others = _others()
    where = cache_folder("features")
    console.say(f"{where}: {len(features)} entries, one per video and extractor, {size / 1e6:.2f} MB")
    if ages:
        console.say(f"last used {ages[-1]} to {ages[0]} days ago")
    if graphs:
        console.say(f"{cache_folder('graphs')}: {len(graphs)} exported graphs, {graphs_size / 1e6:.2f} MB")
    if shards:
        told = f"{len(shards)} shards of stores, {shards_size / 1e6:.2f} MB besides what the stores themselves take"
        console.say(f"{cache_folder('shards')}: {told}")
    for name, other in others.items():
        console.say(f"{cache_folder(name)}: {other / 1e6:.2f} MB (gc leaves it alone)")
    return {
        "folder": str(where),
        "entries": len(features),
        "bytes": size,
        "graphs": {"entries": len(graphs), "bytes": graphs_size},
        "shards": {"entries": len(shards), "bytes": shards_size},
        "others": others,
    }


def show_collection(
    *, keep_days: float | None, max_bytes: int | None, dry_run: bool, console: Console
) -> dict[str, Any]:
    """Collect garbage, or with `dry_run` only say what would go."""
    removed, kept = collect(keep_days=keep_days, max_bytes=max_bytes, pretend=dry_run)
    freed, left = sum(entry.bytes for entry in removed), sum(entry.bytes for entry in kept)
    verb = "would remove" if dry_run else "removed"
    console.say(f"{verb} {len(removed)} entries, {freed / 1e6:.2f} MB; {len(kept)} stay, {left / 1e6:.2f} MB")
    return {"removed": len(removed), "freed": freed, "kept": len(kept), "bytes": left, "dry_run": dry_run}


def _others() -> dict[str, int]:
    """Folders of the cache that hold no entries of its own kind -> bytes."""
    return {
        path.name: sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        for path in sorted(cache_root().glob("*"))
        if path.is_dir() and path.name not in (*KINDS, "claims")
    }
