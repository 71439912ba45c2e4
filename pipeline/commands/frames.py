"""Look inside a video: a contact sheet with frame numbers and seconds, or the exact pixels of chosen frames."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import decoding, extraction
from pipeline.core import Console, UsageError

DEFAULT_COUNT = 12


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("video", type=Path, help="one video file")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--every", type=int, metavar="K", help="frames 0, K, 2K, ...")
    which.add_argument("--indices", metavar="LIST", help="frame numbers, such as 0,5,10")
    parser.add_argument("--out", type=Path, metavar="PNG", help="write a contact sheet")
    parser.add_argument("--npy", type=Path, metavar="FILE", help="write pixels: uint8 (frames, height, width, 3), RGB")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.out is None and args.npy is None:
        raise UsageError("nothing to write", hint=f"framescribe frames {args.video} --out sheet.png (or --npy FILE)")

    def choose(frames: int) -> list[int]:
        return _chosen(frames, step=args.every, listed=args.indices)

    return decoding.show_frames(args.video, choose, sheet=args.out, pixels=args.npy, console=console)


def _chosen(frames: int, *, step: int | None, listed: str | None) -> list[int]:
    """The frame numbers asked for, in that order."""
    if step is not None:
        if step < 1:
            raise UsageError(f"--every is {step}, it must be at least 1")
        return extraction.every(frames, step=step).tolist()
    if listed is not None:
        return _parsed(listed, frames=frames)
    return extraction.uniform(frames, count=min(DEFAULT_COUNT, frames)).tolist()


def _parsed(text: str, *, frames: int) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--indices is '{text}', it must be numbers such as 0,5,10") from None
    outside = [number for number in numbers if not 0 <= number < frames]
    if outside:
        raise UsageError(f"--indices asks for {outside}; the video has frames 0 to {frames - 1}")
    return numbers
