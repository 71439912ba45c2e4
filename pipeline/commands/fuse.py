"""Late fusion: of the captions that several runs wrote, the one that fits each video best.

A video-text embedding is trained on the features that the runs read and on the training captions; it then reranks the
captions in predictions/RUN.json of every run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import captioning, predictions
from pipeline.core import Console


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="captioned runs, two or more; RUN+RUN is an ensemble")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN-or-RUN.json)")
    parser.add_argument(
        "--epochs",
        type=int,
        default=predictions.FUSION["epochs"],
        help="of the embedding, at most (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=predictions.FUSION["seed"], help="(default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return captioning.fuse_runs(
        args.runs,
        captions=args.captions,
        out=args.out,
        epochs=args.epochs,
        seed=args.seed,
        device=args.machine().device,
        console=console,
    )
