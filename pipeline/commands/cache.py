"""The cache of features and exported graphs: its size, and `gc` to make it smaller. Nothing in it is an only copy."""

from __future__ import annotations

import argparse
import re
from typing import Any

from pipeline import cache
from pipeline.core import Console, UsageError, cache_folder, cache_root

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["status", "gc"])
    parser.add_argument("--keep-days", type=float, metavar="N", help="gc: remove what was unused for N days")
    parser.add_argument("--max-size", metavar="SIZE", help="gc: then the longest unused, down to SIZE, such as 10GB")
    parser.add_argument("--dry-run", action="store_true", help="gc: say what would go, remove nothing")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return _status(console) if args.action == "status" else _gc(args, console)


def bytes_of(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if found is None:
        raise UsageError(f"'{text}' is not a size; write 500MB, 10GB or a number of bytes")
    return int(float(found[1]) * UNITS[found[2].upper()])


def _status(console: Console) -> dict[str, Any]:
    import time

    everything = cache.entries()
    found = [entry for entry in everything if not entry.is_graph]
    graphs = [entry for entry in everything if entry.is_graph]
    size, graphs_size = (sum(entry.bytes for entry in some) for some in (found, graphs))
    ages = [round((time.time() - entry.used) / cache.DAY, 2) for entry in found]
    others = _others()
    console.say(f"{cache_folder('features')}: {len(found)} entries, one a video and extractor, {size / 1e6:.2f} MB")
    if ages:
        console.say(f"last used {ages[-1]} to {ages[0]} days ago")
    if graphs:
        console.say(f"{cache_folder('graphs')}: {len(graphs)} exported graphs, {graphs_size / 1e6:.2f} MB")
    for name, other in others.items():
        console.say(f"{cache_folder(name)}: {other / 1e6:.2f} MB (gc leaves it alone)")
    return {
        "folder": str(cache_folder("features")),
        "entries": len(found),
        "bytes": size,
        "graphs": {"entries": len(graphs), "bytes": graphs_size},
        "others": others,
    }


def _others() -> dict[str, int]:
    """Folders of the cache that hold no entries of its own kind -> bytes."""

    return {
        path.name: sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        for path in sorted(cache_root().glob("*"))
        if path.is_dir() and path.name not in ("features", "graphs")
    }


def _gc(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    if args.keep_days is None and args.max_size is None:
        raise UsageError("cache gc needs --keep-days, --max-size or both", hint="framescribe cache gc --keep-days 30")
    if args.keep_days is not None and args.keep_days < 0:
        raise UsageError(f"--keep-days is {args.keep_days:g}, it must be at least 0")
    limit = None if args.max_size is None else bytes_of(args.max_size)
    removed, kept = cache.collect(keep_days=args.keep_days, max_bytes=limit, pretend=args.dry_run)
    freed, left = sum(entry.bytes for entry in removed), sum(entry.bytes for entry in kept)
    verb = "would remove" if args.dry_run else "removed"
    console.say(f"{verb} {len(removed)} entries, {freed / 1e6:.2f} MB; {len(kept)} stay, {left / 1e6:.2f} MB")
    return {"removed": len(removed), "freed": freed, "kept": len(kept), "bytes": left, "dry_run": args.dry_run}
