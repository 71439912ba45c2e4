"""Carry a trained run away: one file that captions videos on a machine without this project."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import run_tools
from pipeline.core import Console, add_actions


def configure(parser: argparse.ArgumentParser) -> None:
    action = add_actions(parser)
    export = action("export", "a run in one file: model, vocabulary, params, extractor entries, checksums, model card")
    export.add_argument("name", help="a trained run, in runs/")
    export.add_argument("file", type=Path, help="such as soft_attention.run")
    export.add_argument(
        "--weights", action="store_true", help="with those of its extractors whose licences let copies be passed on"
    )
    show = action("show", "check a run's file and print its model card")
    show.add_argument("file", type=Path)
    show.add_argument("--out", type=Path, metavar="CARD.md", help="write the card instead")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "export":
        return run_tools.export_and_show(args.name, args.file, with_weights=args.weights, console=console)
    return run_tools.show_and_write_card(args.file, out=args.out, console=console)
