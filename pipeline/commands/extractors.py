"""List the extractors, show the card of one, add one to params.yaml, or check some against published numbers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import catalogue, extraction
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "show", "add", "check"], default="list")
    parser.add_argument("name", nargs="*", help="a name that `framescribe extractors` lists; add: also LIBRARY:NETWORK")
    parser.add_argument("--inputs", type=Path, default=Path("checks"), help="check: the folder with the checks' inputs")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "list":
        return catalogue.show_cards(console)
    if args.action == "check":
        return extraction.check_extractors(args.name, inputs=args.inputs, console=console)
    if len(args.name) != 1:
        raise UsageError(f"extractors {args.action} needs a name", hint="framescribe extractors")
    name = args.name[0]
    return catalogue.show_card(name, console) if args.action == "show" else catalogue.add_card(name, console)
