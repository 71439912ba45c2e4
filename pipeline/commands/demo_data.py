"""Make the demo set: short clips with sound, captions in MSR-VTT's format, and the truth about every scene."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pipeline.console import Console
from pipeline.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("data/demo"), help="the folder to make (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes another set (default: %(default)s)")
    parser.add_argument("--clips", type=int, help="a smaller or larger set with the same balance (default: 840)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.demo.making import Recipe, make_demo_set
    from pipeline.demo.plan import SMALLEST_SET, WHOLE_SET, split_sizes

    clips = WHOLE_SET if args.clips is None else args.clips
    if clips < SMALLEST_SET:
        raise UsageError(
            f"--clips {clips}: must be at least {SMALLEST_SET}", hint=f"framescribe demo-data --clips {SMALLEST_SET}"
        )
    if args.workers < 1:
        raise UsageError(f"--workers {args.workers}: must be at least 1", hint="framescribe demo-data --workers 1")
    made = make_demo_set(args.out, recipe=Recipe(args.seed, clips), workers=args.workers, console=console)
    sizes = split_sizes(clips)
    counts = ", ".join(f"{size} {split}" for split, size in sizes.items())
    console.say(f"{args.out}: {counts} clips" if made else f"{args.out} already holds exactly this set: nothing to do")
    return {"out": str(args.out), "made": made, "seed": args.seed, "clips": clips, "splits": sizes}
