"""Index the videos by really decoding them: true frame counts and times, and a reason for each file that fails."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pipeline import decoding, params
from pipeline.core import Console, UsageError, no_changes

OUT = Path("data/index")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("videos", nargs="?", help="a folder, a file, a URL or a list of URLs; default: dataset.videos")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the index goes (default: {OUT})")
    parser.add_argument("--max-failed", type=int, help="unusable files to accept; default: decode.max_failed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="videos at a time (default: all CPUs)")
    parser.add_argument("--verify", action="store_true", help="hash every file, also those that nobody touched")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.workers < 1:
        raise UsageError(f"--workers is {args.workers}, it must be at least 1")
    settings = params.load_params() if args.videos is None or params.PARAMS_FILE.is_file() else None
    values = settings.decode if settings else params.Decode()
    if args.max_failed is not None:
        values = params.Decode.model_validate({**values.model_dump(), "max_failed": args.max_failed})
    videos = args.videos or settings.dataset.videos  # type: ignore[union-attr]  # loaded when there is no argument
    machine = args.machine()
    executor = machine.executor if machine.is_cluster else None
    in_use = params.params_in_use(settings, "decode", "dataset.videos") if settings else no_changes
    return decoding.decode_videos(
        videos=videos,
        out=args.out,
        params=values,
        workers=args.workers,
        executor=executor,
        console=console,
        in_use=in_use,
        verify=args.verify,
    )
