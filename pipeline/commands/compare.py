"""Is one run better than another, or is it chance? Both are scored on the same resampled videos.

A run is given by its name, by what `evaluate` wrote (evaluation/RUN.json, metrics.json), or by a predictions file
with --references. The table gives second minus first, its 95 % interval and two p values: how often the difference
changes its sign when videos are resampled, and how often predictions that are exchanged at random differ as much.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import evaluation
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="RUN_A", help="a run, a file of scores, or a file of predictions")
    parser.add_argument("second", metavar="RUN_B")
    parser.add_argument("--seeds", action="store_true", help="each run stands for all that differ only by its seed")
    parser.add_argument("--references", type=Path, metavar="R", help="for predictions files: score them first")
    parser.add_argument("--split", help="with --references: score the videos of this split only")
    parser.add_argument("--common", action="store_true", help="with --references: score the videos that all files have")
    parser.add_argument("--no-meteor", action="store_true", help="with --references: leave METEOR out")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (default: %(default)s)")
    parser.add_argument("--out", type=Path, metavar="F", help="write the comparison as JSON")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.resamples < 1:
        raise UsageError(f"--resamples must be 1 or more, got {args.resamples}")
    if args.references:
        sides = evaluation.scored_sides(
            [Path(args.first), Path(args.second)],
            references=args.references,
            split=args.split,
            common=args.common,
            meteor=not args.no_meteor,
        )
    else:
        sides = evaluation.evaluated_sides([args.first, args.second], seeds=args.seeds)
    return evaluation.compare_sides(sides, resamples=args.resamples, seed=args.seed, out=args.out, console=console)
