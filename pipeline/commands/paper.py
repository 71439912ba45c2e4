"""Set params.yaml to a paper's rows on a data set. Nothing is started: what it needs and the next commands are printed.

Without a name: the recipes there are. The sections extract, assemble, train and caption become the recipe's, the data
set's paths stay, and the former file is kept as params.before.yaml (--undo brings it back).
"""

from __future__ import annotations

import argparse
from typing import Any

from pipeline import papers
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a recipe, such as g2l-msrvtt")
    parser.add_argument("--show", action="store_true", help="print what it needs and would change; write nothing")
    parser.add_argument("--undo", action="store_true", help="bring back the params.yaml before the last recipe")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.undo:
        return _undo(args.name, console)
    if args.name is None:
        return papers.show_recipes(console)
    return papers.apply_recipe(args.name, show_only=args.show, console=console)


def _undo(name: str | None, console: Console) -> dict[str, Any]:
    if name is not None:
        raise UsageError("--undo takes no recipe: it brings back the params.yaml before the last one")
    console.say(f"params.yaml is again what it was ({papers.undo()})")
    return {"undone": True}
