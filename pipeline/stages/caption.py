"""Write a caption for every video of the test split with one trained run, or with an ensemble of several.

Or for any videos: VIDEO... --run RUN, or the file of a run that was exported. A large split is captioned by the
workers of the profile, a batch of videos at a time; the files are the same to the last byte.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from pipeline import captioning, params, report, run_tools
from pipeline.core import Console, UsageError, write_bytes
from pipeline.remote import is_url


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="RUN | VIDEO", help="trained runs, several as one; with --run: videos or folders"
    )
    parser.add_argument("--each", action="store_true", help="several runs each by itself instead of as one")
    parser.add_argument("--run", help="caption the videos given, by this trained run, or a file of `runs export`")
    parser.add_argument("--html", type=Path, help="with --run: a page with frames and the attention per word")
    parser.add_argument(
        "--split", choices=("train", "val", "test"), help="of this split, into predictions/RUN@SPLIT.json"
    )
    parser.add_argument(
        "--ids", type=Path, metavar="FILE", help="of the videos listed, where the run's stores have them: RUN@FILE"
    )
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN.json; with --run: none)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.split and args.ids:
        raise UsageError("--split and --ids each say which videos; give one")
    if args.run is not None and (args.split or args.ids):
        raise UsageError("--split and --ids are for trained runs; with --run the videos are given")
    if args.run is not None:
        return _carried(args, console) if _is_file(args.run) else _own_videos(args, console)
    values, machine = params.load_params(), args.machine()
    return captioning.caption_named_runs(
        args.names,
        each=args.each,
        split=args.split,
        ids=args.ids,
        captions=args.captions,
        out=args.out,
        params=values,
        executor=machine.executor,
        device=machine.device,
        console=console,
    )


def _is_file(run: str) -> bool:
    """A run of the project comes first; where there is no project, it can only be a file."""
    if (Path("runs") / run).is_dir():
        return False
    if not (Path(run).is_file() or params.PARAMS_FILE.is_file()):
        raise UsageError(
            f"there is no file '{run}', and {params.PARAMS_FILE} is not here (looked in {Path.cwd()})",
            hint="name a file of `framescribe runs export`, or run this from the project's root",
        )
    return Path(run).is_file()


def _carried(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """As below, in a project of that run alone: what is given by its path keeps its place."""
    machine = args.machine()
    with run_tools.unpacked_run(Path(args.run)) as (name, here):
        names = [each if is_url(each) else str(here / each) for each in args.names]
        given = vars(args) | {"names": names, "run": name}
        given |= {option: here / given[option] for option in ("out", "html") if given[option] is not None}
        return _own_videos(argparse.Namespace(**given | {"machine": lambda: machine}), console)


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
            captions=args.captions,
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
    unlike = {id_: each.distance for id_, each in captioned.likeness.items() if each.unlike}
    return {"run": args.run, "captions": captions, "refused": captioned.refused, "unlike": unlike}
