"""Is one run better than another, or is it chance? Both are scored on the same resampled videos.

A run is given by its name, by what `evaluate` wrote (evaluation/RUN.json, metrics.json), or by a predictions file
with --references. The table gives second minus first, its 95 % interval and two p values: how often the difference
changes its sign when videos are drawn again, and how often sentences that are exchanged at random differ as much.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import evaluation, results
from pipeline.core import Console, UsageError, write_json

SLICED = "CIDEr-D"  # the metric of the table by slice; --out and --json have all


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
        sides = _score(args)
    else:
        sides = [
            _evaluated(name, seeds=args.seeds, find=evaluation.find_evaluations) for name in (args.first, args.second)
        ]
    found = evaluation.compare_evaluations(*sides, resamples=args.resamples, seed=args.seed)
    _show(console, found, sides)
    summary = _record(found, sides, args)
    if args.out:
        write_json(args.out, summary)
    return summary


def _evaluated(name: str, *, seeds: bool, find: Any) -> list[evaluation.Evaluation]:

    if evaluation.is_predictions(name):
        raise UsageError(f"{name} holds predictions, not scores", hint="give their references with --references R")
    found: list[evaluation.Evaluation] = find(name, seeds=seeds)
    return found


def _score(args: argparse.Namespace) -> list[list[evaluation.Evaluation]]:
    """Both files by one tokeniser and one set of METEOR processes."""

    said = {name: evaluation.read_predictions(Path(name))[1] for name in (args.first, args.second)}
    sets, references, _ = evaluation.same_videos(
        said, evaluation.read_references(args.references), split=args.split, common=args.common
    )
    settings = evaluation.MetricSettings(meteor=not args.no_meteor)
    scores = evaluation.score_all(settings, sets, references.captions)
    return [
        [evaluation.Evaluation(Path(n).stem, scores[n].statistics, scores[n].provenance)]
        for n in (args.first, args.second)
    ]


def _show(console: Console, found: evaluation.Comparison, sides: list[list[evaluation.Evaluation]]) -> None:
    titles = [_title(side) for side in sides]
    columns = ["metric", *titles, "difference", "95 % interval", "p (drawn again)", "p (exchanged)"]
    console.table(columns, [_row(name, one) for name, one in found.all.items()], title=f"{found.videos} videos")
    if found.slices:
        rows = [_row(f"{label} ({found.sizes[label]})", each[SLICED]) for label, each in found.slices.items()]
        console.table(["slice (videos)", *columns[1:]], rows, title=f"\n{SLICED} by slice")


def _title(side: list[evaluation.Evaluation]) -> str:

    names = [one.name for one in side]
    return names[0] if len(names) == 1 else f"{results.common_name(names)} ({len(names)} seeds)"


def _row(name: str, one: evaluation.Difference) -> list[str]:
    low, high = one.interval
    return [
        name,
        *(
            f"{value:.4f}" + (f" ± {spread:.4f}" if spread is not None else "")
            for value, spread in zip((one.first, one.second), one.spread, strict=True)
        ),
        f"{one.difference:+.4f}",
        f"{low:+.4f} to {high:+.4f}",
        f"{one.p_bootstrap:.3f}",
        "-" if one.p_permutation is None else f"{one.p_permutation:.3f}",
    ]


def _record(
    found: evaluation.Comparison, sides: list[list[evaluation.Evaluation]], args: argparse.Namespace
) -> dict[str, Any]:
    return {
        "runs": [[one.name for one in side] for side in sides],
        "videos": found.videos,
        "resamples": args.resamples,
        "seed": args.seed,
        "metrics": {name: vars(one) for name, one in found.all.items()},
        "slices": {label: {name: vars(one) for name, one in each.items()} for label, each in found.slices.items()},
    }
