"""The cache of features, shards and graphs: its size, and `gc` to make it smaller. Nothing in it is an only copy."""

from __future__ import annotations

import argparse
import re
from typing import Any

from pipeline import cache
from pipeline.core import Console, UsageError

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["status", "gc"])
    parser.add_argument("--keep-days", type=float, metavar="N", help="gc: remove what was unused for N days")
    parser.add_argument("--max-size", metavar="SIZE", help="gc: then the longest unused, down to SIZE, such as 10GB")
    parser.add_argument("--dry-run", action="store_true", help="gc: say what would go, remove nothing")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "status":
        return cache.show_usage(console)
    if args.keep_days is None and args.max_size is None:
        raise UsageError("cache gc needs --keep-days, --max-size or both", hint="framescribe cache gc --keep-days 30")
    if args.keep_days is not None and args.keep_days < 0:
        raise UsageError(f"--keep-days is {args.keep_days:g}, it must be at least 0")
    limit = None if args.max_size is None else bytes_of(args.max_size)
    return cache.show_collection(keep_days=args.keep_days, max_bytes=limit, dry_run=args.dry_run, console=console)


def bytes_of(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if found is None:
        raise UsageError(f"'{text}' is not a size; write 500MB, 10GB or a number of bytes")
    return int(float(found[1]) * UNITS[found[2].upper()])
