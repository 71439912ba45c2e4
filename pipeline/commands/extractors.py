"""List the extractors, show the card of one, or add one to params.yaml."""

from __future__ import annotations

import argparse
from typing import Any

from pipeline import catalogue
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "show", "add"], default="list")
    parser.add_argument("name", nargs="?", help="a name that `framescribe extractors` lists")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "list":
        return catalogue.show_cards(console)
    if args.name is None:
        raise UsageError(f"extractors {args.action} needs a name", hint="framescribe extractors")
    return catalogue.show_card(args.name, console) if args.action == "show" else catalogue.add_card(args.name, console)
