"""List, fetch, import and verify pretrained weights. `fetch` is the only command that downloads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline.console import Console
from pipeline.errors import InputError, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "fetch", "import"])
    parser.add_argument("name", nargs="?", help="an entry of the registry (see `framescribe weights list`)")
    parser.add_argument("file", nargs="?", type=Path, help="import: the published file you downloaded")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "list":
        return _list(console)
    if args.name is None:
        raise UsageError(f"weights {args.action} needs a name", hint="framescribe weights list")
    path = _fetch(args.name, console) if args.action == "fetch" else _import(args.name, args.file)
    console.say(f"{args.name}: {path}")
    return {"name": args.name, "path": str(path)}


def _list(console: Console) -> dict[str, Any]:
    from pipeline.weights import REGISTRY, status

    rows = [(name, status(name), weights.licence, weights.description) for name, weights in REGISTRY.items()]
    console.table(("name", "state", "licence", "description"), rows)
    return {name: state for name, state, *_ in rows}


def _fetch(name: str, console: Console) -> Path:
    from pipeline.weights import entry, fetch

    console.say(f"{name}: {entry(name).description} ({entry(name).licence})")
    return fetch(name)


def _import(name: str, file: Path | None) -> Path:
    from pipeline.weights import import_bytes

    if file is None or not file.is_file():
        raise InputError(f"weights import {name}: no such file: {file}")
    return import_bytes(name, file.read_bytes())
