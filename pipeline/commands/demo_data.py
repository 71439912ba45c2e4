"""Make the demo set: short clips with sound, captions in MSR-VTT's format, and the truth about every scene."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pipeline import demo
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("data/demo"), help="the folder to make (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes another set (default: %(default)s)")
    parser.add_argument("--clips", type=int, help="a smaller or larger set with the same balance (default: 840)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    clips = demo.WHOLE_SET if args.clips is None else args.clips
    if clips < demo.SMALLEST_SET:
        raise UsageError(
            f"--clips {clips}: must be at least {demo.SMALLEST_SET}",
            hint=f"framescribe demo-data --clips {demo.SMALLEST_SET}",
        )
    if args.workers < 1:
        raise UsageError(f"--workers {args.workers}: must be at least 1", hint="framescribe demo-data --workers 1")
    made = demo.make_demo_set(
        args.out, settings=demo.DemoSettings(args.seed, clips), workers=args.workers, console=console
    )
    sizes = demo.split_sizes(clips)
    counts = ", ".join(f"{size} {split}" for split, size in sizes.items())
    console.say(f"{args.out}: {counts} clips" if made else f"{args.out} already holds exactly this set: nothing to do")
    return {"out": str(args.out), "made": made, "seed": args.seed, "clips": clips, "splits": sizes}
