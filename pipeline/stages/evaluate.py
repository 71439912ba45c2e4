"""Score a run's predictions against the references, beside the most frequent training caption for every video.

Several runs share METEOR's tables and the baseline; on a cluster each worker has some of the runs.
Or any file of predictions against any file of references: COCO results, the data sets' own annotations, JSON, JSONL.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import evaluation, params
from pipeline.core import Console, InProcess, UsageError

OF_FILES = ("predictions", "references", "out", "split", "common", "no_meteor", "no_spice", "tokenizer", "resamples")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="captioned runs: entries of `train` in params.yaml, or any predictions/RUN.json",
    )
    files = parser.add_argument_group("files instead of a run")
    files.add_argument("--predictions", type=Path, metavar="P", help="captions by id: COCO results, JSON or JSONL")
    files.add_argument("--references", type=Path, metavar="R", help="MSR-VTT, MSVD, VATEX or COCO, JSON or JSONL")
    files.add_argument("--split", help="of the references, when they name splits: score these videos only")
    files.add_argument("--common", action="store_true", help="score the videos that both files have")
    files.add_argument(
        "--tokenizer", choices=("ptb", "python", "unicode", "none"), help="(default: ptb; python needs no Java)"
    )
    files.add_argument("--no-meteor", action="store_true", help="leave METEOR out")
    files.add_argument("--no-spice", action="store_true", help="leave SPICE out, even when its jar and models are here")
    files.add_argument("--resamples", type=int, metavar="N", help="of the bootstrap (default: 1000; 0: no intervals)")
    files.add_argument("--out", type=Path, metavar="F", help="all scores (default: metrics.json)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    machine = args.machine()
    # On one machine METEOR's own processes and SPICE's own threads are at work on all cores.
    executor = machine.executor if machine.is_cluster else InProcess()
    given = [name for name in OF_FILES if getattr(args, name) is not None and getattr(args, name) is not False]
    if args.runs and given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(
            f"{options}: goes with both --predictions and --references, not with RUN",
            hint="runs are scored as `evaluate` in params.yaml says",
        )
    if args.runs:
        found = evaluation.evaluate_runs(args.runs, params=params.load_params(), executor=executor, console=console)
        return found[args.runs[0]] if len(args.runs) == 1 else {"runs": found}
    if not args.predictions or not args.references:
        raise UsageError("give either RUN, or both --predictions and --references", hint="framescribe evaluate --help")
    return evaluation.evaluate_files(
        args.predictions,
        args.references,
        settings=evaluation.MetricSettings(
            tokenizer=args.tokenizer or "ptb", meteor=not args.no_meteor, spice=not args.no_spice
        ),
        split=args.split,
        common=args.common,
        resamples=evaluation.RESAMPLES if args.resamples is None else args.resamples,
        out=args.out or evaluation.METRICS,
        executor=executor,
        console=console,
    )
