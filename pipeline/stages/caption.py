"""Write a caption for every video of the test split with one trained run, or with an ensemble of several.

Or for any videos: VIDEO... --run RUN. A large split is captioned by the workers of the profile, a batch of videos at a
time; the files are the same to the last byte.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from pipeline import captioning, params, report
from pipeline.core import Console, write_bytes


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="RUN | VIDEO", help="trained runs, several as one; with --run: videos or folders"
    )
    parser.add_argument("--each", action="store_true", help="several runs each by itself instead of as one")
    parser.add_argument("--run", help="caption the videos given, by this trained run")
    parser.add_argument("--html", type=Path, help="with --run: a page with frames and where each word looked")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN.json; with --run: none)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.run is not None:
        return _own_videos(args, console)
    values, machine = params.load_params(), args.machine()
    return captioning.caption_named_runs(
        args.names,
        each=args.each,
        captions=args.captions,
        out=args.out,
        params=values,
        executor=machine.executor,
        device=machine.device,
        console=console,
    )


def _own_videos(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    values, machine = params.load_params(), args.machine()
    with tempfile.TemporaryDirectory() as work:
        settings = captioning.AnyVideoSettings(
            extractors=values.extract,
            decode=values.decode,
            caption=values.caption,
            executor=machine.executor,
            device=machine.device,
            work=Path(work),
        )
        captioned = captioning.caption_own_videos(
            args.names, run=args.run, out=args.out, settings=settings, console=console
        )
        if args.html is not None:
            write_bytes(args.html, report.render(captioned, dataset=values.dataset.name).encode(errors="replace"))
    console.say(report.trained_on(captioned.record, dataset=values.dataset.name))
    for written in (args.html, args.out):
        if written is not None:
            console.say(f"written: {written}")
    captions = {id_: each.caption for id_, each in captioned.captions.items()}
    return {"run": args.run, "captions": captions, "refused": captioned.refused}
