"""Is one run better than another, or is it chance? Both are scored on the same resampled videos.

A run is given by its name, by what `evaluate` wrote (evaluation/RUN.json, metrics.json), or by a predictions file
with --references. The table gives second minus first, its 95 % interval and two p values: how often the difference
changes its sign when videos are resampled, and how often predictions that are exchanged at random differ as much.

Or people decide: --vote-page writes a page on which they choose between the two runs' sentences without knowing whose
is whose, and --votes counts the files that the page saved.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import evaluation, report
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", nargs="?", metavar="RUN_A", help="a run, a file of scores, or a file of predictions")
    parser.add_argument("second", nargs="?", metavar="RUN_B")
    parser.add_argument("--seeds", action="store_true", help="each run stands for all that differ only by its seed")
    parser.add_argument("--references", type=Path, metavar="R", help="for predictions files: score them first")
    parser.add_argument("--split", help="with --references: score the videos of this split only")
    parser.add_argument("--common", action="store_true", help="with --references: score the videos that all files have")
    parser.add_argument("--no-meteor", action="store_true", help="with --references: leave METEOR out")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (default: %(default)s)")
    people = parser.add_argument_group("by people's votes")
    people.add_argument("--vote-page", type=Path, metavar="PAGE", help="write a page to vote on, and PAGE.key.json")
    people.add_argument("--clips", type=int, default=50, metavar="N", help="on the page (default: %(default)s)")
    people.add_argument("--votes", type=Path, nargs="+", metavar="FILE", help="count what voters saved; name no runs")
    people.add_argument("--key", type=Path, metavar="K", help="of the page voted on (default: vote.key.json)")
    parser.add_argument("--out", type=Path, metavar="F", help="write the comparison as JSON")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.votes:
        return _counted(args, console)
    if args.second is None:
        raise UsageError("two runs are compared; name both", hint="framescribe compare RUN_A RUN_B")
    if args.vote_page:
        return report.make_vote_page(
            args.first, args.second, out=args.vote_page, clips=args.clips, seed=args.seed, console=console
        )
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


def _counted(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.first or args.vote_page:
        raise UsageError("--votes stands alone: the key of the page knows its runs", hint="framescribe compare --help")
    return evaluation.count_votes(args.votes, key=args.key or Path("vote.key.json"), out=args.out, console=console)
