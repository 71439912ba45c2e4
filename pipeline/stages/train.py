"""Train a run: the model, features and schedule of an entry of the section `train` in params.yaml.

Several runs, such as the seeds of one model, are trained at once, as many as the profile has workers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import params, training
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", help="entries of the section `train` in params.yaml")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/RUN); for one RUN")
    parser.add_argument("--curves", type=Path, help="learning curve as CSV (default: metrics/RUN/curves.csv); for one")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    values, machine = params.load_params(), args.machine()
    for name in args.run:
        params.pick(values.train, name, kind="run")
    if len(args.run) == 1:
        work = training.TrainRun(args.captions, device=machine.device, out=args.out, curves=args.curves)
        return work.train(args.run[0], console=console)
    if args.out is not None or args.curves is not None:
        raise UsageError("--out and --curves are for one RUN")
    return training.train_at_once(
        args.run, training.TrainRun(args.captions, device=machine.device), machine.executor, console=console
    )
