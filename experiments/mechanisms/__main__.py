"""Do the papers' ideas work? `python -m experiments.mechanisms`, where `make demo` has been: a table, and its numbers.

Each idea of ideas.yaml is trained with and without, with several seeds; settings were chosen by validation, and what
is shown is the test split. docs/models.md tells of the results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from experiments.mechanisms.comparing import IdeaComparison
from experiments.mechanisms.ideas import FILE, read_ideas
from pipeline.core import Console, FramescribeError, UsageError, write_json
from pipeline.params import load_params, pick
from workflows.machines import load_machine

SHOWN = {"told_apart": "told from their twins", "cider": "CIDEr-D"}


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        _compare(args, Console())
    except FramescribeError as error:
        sys.stderr.write(f"mechanisms: {error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.mechanisms", description=__doc__)
    parser.add_argument("ideas", nargs="*", metavar="IDEA", help="names in ideas.yaml (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="write all numbers to this JSON file")
    parser.add_argument("--profile", help="machine profile (default: laptop)")
    return parser


def _compare(args: argparse.Namespace, console: Console) -> None:

    if args.seeds < 1:
        raise UsageError(f"--seeds is {args.seeds}, allowed: 1 or more")
    known, machine = read_ideas(), load_machine(args.profile)
    chosen = [pick(known.ideas, name, kind="idea", where=FILE.name) for name in args.ideas or known.ideas]
    comparison = IdeaComparison(load_params(), machine.executor, machine.device, console)
    found = comparison.run(chosen, known, seeds=args.seeds)
    if args.out is not None:
        write_json(args.out, {"seeds": args.seeds, "ideas": found})
    columns = ("idea", "slice", "without", "with", "better")
    for score, title in SHOWN.items():
        console.table(columns, _rows(found, score), title=f"{title}, test split")


def _rows(found: dict[str, Any], score: str) -> list[list[str]]:
    rows = []
    for name, entry in found.items():
        without, with_it = (entry["test"][side][score] for side in ("without", "with"))
        better = sum(after > before for before, after in zip(without, with_it, strict=True))
        rows.append([name, entry["slice"], spread(without), spread(with_it), f"{better} of {len(without)} seeds"])
    return rows


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{fmean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{fmean(values):.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
