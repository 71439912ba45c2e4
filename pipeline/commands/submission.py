"""Write a challenge's submission file: {video id: sentence} for every video of a split or of a list.

Several predictions fill each other's gaps, and the first that has a sentence counts: videos that can no longer be
downloaded are captioned from released features by another run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import captioning, params
from pipeline.core import Console


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="RUN", help="predictions/RUN.json, or RUN@SPLIT; the first counts")
    videos = parser.add_mutually_exclusive_group()
    videos.add_argument("--split", choices=("train", "val", "test"), help="of the annotations (default: caption.split)")
    videos.add_argument("--ids", type=Path, metavar="FILE", help="the challenge's own list: a line each, or JSON")
    parser.add_argument("--partial", action="store_true", help="leave out videos without a sentence")
    parser.add_argument("--out", type=Path, default=Path("submission.json"), help="(default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return captioning.write_submission(
        args.names,
        params=params.load_params(),
        split=args.split,
        ids=args.ids,
        partial=args.partial,
        out=args.out,
        console=console,
    )
