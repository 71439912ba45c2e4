"""Run one or more extractors over every indexed video, each into its sharded feature store.

Several extractors are run in one pass: each video is decoded once, and each takes the frames of its own sampling.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import extraction, params, store
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="+", help="entries of the section `extract` in params.yaml")
    parser.add_argument("--index", type=Path, default=Path("data/index"))
    parser.add_argument(
        "--share-pass",
        action="store_true",
        help="fill the cache for the other entries too where a video is decoded anyway",
    )
    parser.add_argument("--out", type=Path, help="folder of the store (default: features/NAME); for one NAME")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    project = params.load_params()
    values = {name: params.pick(project.extract, name, kind="extractor") for name in args.name}
    if args.out is not None and len(values) > 1:
        raise UsageError("--out is the folder of one store; give one NAME", hint=f"framescribe extract {args.name[0]}")
    outs = {name: args.out or store.FEATURES / name for name in values}
    machine = args.machine()
    return extraction.extract_features(
        values,
        index=args.index,
        outs=outs,
        executor=machine.executor,
        device=machine.device,
        console=console,
        others={name: each for name, each in project.extract.items() if args.share_pass and name not in values},
        in_use=params.params_in_use(project, *(f"extract.{name}" for name in values)),
    )
