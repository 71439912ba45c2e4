"""Train a run: the model, features and schedule of an entry of the section `train` in params.yaml.

Several runs, such as the seeds of one model, are trained at once, as many as the profile has workers; the workers share
one run where it has `parts`, on this machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import training
from pipeline.core import Console

VIEWERS = ("dvclive", "tensorboard")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", help="entries of the section `train` in params.yaml")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/RUN); for one RUN")
    live = "show the curves while it trains, in logs/live/RUN/VIEWER; changes no result; may be repeated"
    parser.add_argument("--live", action="append", choices=VIEWERS, default=[], metavar="VIEWER", help=live)
    parser.add_argument("--curves", type=Path, help="learning curve as CSV (default: metrics/RUN/curves.csv); for one")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    machine = args.machine()
    return training.train_named_runs(
        args.run,
        captions=args.captions,
        out=args.out,
        curves=args.curves,
        live=args.live,
        executor=machine.executor,
        device=machine.device,
        others=machine.other_devices,
        console=console,
    )
