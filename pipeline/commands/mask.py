"""How much a trained run leans on its largest attention weights: mask the smaller ones, caption again, score.

The curve is written to metrics/RUN/mask.json; `framescribe report` draws it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import evaluation
from pipeline.core import Console


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a trained run, an entry of the section `train` in params.yaml")
    parser.add_argument("--videos", type=int, metavar="N", help="the first N of the split (default: all)")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: metrics/RUN/mask.json)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return evaluation.mask_curves(
        args.run,
        videos=args.videos,
        captions=args.captions,
        out=args.out,
        device=args.machine().device,
        console=console,
    )
