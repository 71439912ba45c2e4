"""Cross-validation where params.yaml is: `run` trains and decodes, `show` scores, `compare` tests two systems.

    python -m experiments.folds run soft_attention peer --seeds 0 1 2
    python -m experiments.folds show --out results.json
    python -m experiments.folds compare peer.beam soft_attention.beam soft_attention.consensus

Training and validation clips are dealt into folds, clips of one source film into the same one. What is learnt from two
folds captions the third; a tenth of what is learnt from chooses the epoch. Test clips have no part in it. `run` may be
stopped and started: what is there is not done again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.folds.cross_validation import CrossValidation
from experiments.folds.pairing import Gap
from experiments.folds.recipe import FILE, read_decodings, read_recipes
from experiments.folds.scoring import Scoreboard, as_json
from pipeline.core import Console, FramescribeError, write_json
from pipeline.params import load_params, pick

METRIC = "CIDEr-D"
SHOWN = ("system", "seeds", "BLEU-4", METRIC, "95 % interval", "of the seeds", "training, s", "decoding a fold, s")


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        args.work(args, Console())
    except FramescribeError as error:
        sys.stderr.write(f"folds: {error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.folds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="train recipes on every fold and decode what each fold holds out")
    run.add_argument("recipes", nargs="+", metavar="RECIPE", help="entries of `train` in params.yaml, or peer")
    run.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: 0 1 2)")
    run.add_argument("--decodings", nargs="+", metavar="NAME", help="of recipes.yaml (default: all)")
    run.add_argument("--together", action="store_true", help="decode the seeds of a recipe as one, too")
    run.set_defaults(work=_run)
    show = commands.add_parser("show", help="score all systems that have a sentence for every clip")
    show.add_argument("systems", nargs="*", metavar="SYSTEM", help="as soft_attention.beam (default: all)")
    show.set_defaults(work=_show)
    compare = commands.add_parser("compare", help="each system with the one before it, by a paired test")
    compare.add_argument("systems", nargs="+", metavar="SYSTEM", help="as soft_attention-together.consensus")
    compare.set_defaults(work=_compare)
    for command in (show, compare):
        command.add_argument("--meteor", action="store_true", help="METEOR too, which takes minutes")
        command.add_argument("--out", type=Path, help="write all numbers to this JSON file")
    for command in (run, show, compare):
        command.add_argument("--folds", type=int, default=3, help="(default: %(default)s)")
        command.add_argument("--fold-seed", type=int, default=0, help="of the deal (default: %(default)s)")
        command.add_argument("--results", type=Path, default=Path("folds"), help="folder (default: %(default)s)")
    return parser


def _validation(args: argparse.Namespace) -> CrossValidation:
    return CrossValidation.of(load_params(), results=args.results, folds=args.folds, seed=args.fold_seed)


def _run(args: argparse.Namespace, console: Console) -> None:
    params, validation = load_params(), _validation(args)
    decodings = read_decodings(params.caption)
    wanted = {name: pick(decodings, name, kind="decoding", where=FILE.name) for name in args.decodings or decodings}
    known = read_recipes(params)
    recipes = [pick(known, name, kind="recipe", where=f"params.yaml and {FILE.name}") for name in args.recipes]
    validation.run(recipes, args.seeds, wanted, together=args.together, console=console)


def _show(args: argparse.Namespace, console: Console) -> None:
    validation = _validation(args)
    found = Scoreboard.of(validation, only=args.systems, meteor=args.meteor).record()
    if args.out:
        write_json(args.out, {"clips": len(validation.clips), "folds": len(validation.folds), "systems": found})
    console.table(SHOWN, [_row(name, each) for name, each in found.items()], title=f"{len(validation.clips)} clips")


def _row(name: str, found: dict[str, Any]) -> list[str]:
    score, low, high = (100 * value for value in found["scores"][METRIC])
    seconds = found["processor_seconds"]
    return [
        name,
        str(len(found["seeds"])),
        f"{100 * found['scores']['BLEU-4'][0]:.1f}",
        f"{score:.1f}",
        f"{low:.1f} to {high:.1f}",
        " ".join(f"{100 * each:.1f}" for each in found["seeds"].values()),
        f"{seconds['training']:.0f}",
        f"{seconds['decoding']:.1f}",
    ]


def _compare(args: argparse.Namespace, console: Console) -> None:
    scores = Scoreboard.of(_validation(args), only=args.systems, meteor=args.meteor)
    found = {f"{first} -> {second}": scores.compare(first, second) for first, second in pairwise(args.systems)}
    if args.out:
        write_json(args.out, {name: as_json(gaps) for name, gaps in found.items()})
    for name, gaps in found.items():
        console.table(("metric", "difference", "95 % interval", "p"), _gaps(gaps), title=f"\n{name}")


def _gaps(gaps: dict[str, Gap]) -> list[list[str]]:
    return [
        [metric, f"{100 * gap.difference:+.1f}", f"{100 * gap.low:+.1f} to {100 * gap.high:+.1f}", f"{gap.p:.3f}"]
        for metric, gap in gaps.items()
    ]


if __name__ == "__main__":
    raise SystemExit(main())
