"""Write a sentence for every video of the test split with one trained run, or with several as one.

Or for any videos: VIDEO... --run RUN. A large split is captioned by the workers of the profile, a batch of videos at a
time; the files are the same to the last byte.
"""

from __future__ import annotations

import argparse
from math import exp
from pathlib import Path
from typing import Any

from pipeline import captioning, params, report, results
from pipeline.core import Console, UsageError, printable, write_bytes, write_json


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
    for each in args.names:
        if (Path("runs") / each / "run.json").is_file():  # a seed of a run is no entry of params.yaml
            continue
        if each not in values.train and Path(each).exists():
            raise UsageError(f"{each} is no run", hint=f"for videos: framescribe caption {each} --run RUN")
        params.pick(values.train, each, kind="run")
    groups = [[name] for name in args.names] if args.each else [args.names]
    speakers = {"+".join(group): [Path("runs") / name for name in group] for group in groups}
    if args.out is not None and len(speakers) > 1:
        raise UsageError("--out is the file of one run; with --each they are predictions/RUN.json")
    summaries = captioning.caption_runs(
        speakers,
        captions=args.captions,
        outs={name: args.out or Path("predictions") / f"{name}.json" for name in speakers},
        params=values.caption,
        executor=machine.executor,
        device=machine.device,
        console=console,
    )
    return {"runs": summaries} if args.each else next(iter(summaries.values()))


def _own_videos(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    import tempfile

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
        captioned = captioning.caption_own(
            [Path(name) for name in args.names], run=Path("runs") / args.run, settings=settings, console=console
        )
        if args.html is not None:
            write_bytes(args.html, report.render(captioned, dataset=values.dataset.name).encode(errors="replace"))
    if args.out is not None:
        write_json(args.out, {"run": args.run, "predictions": results.without_looks(captioned.said.items())})
    _show_captioned(captioned, dataset=values.dataset.name, console=console)
    for written in (args.html, args.out):
        if written is not None:
            console.say(f"written: {written}")
    return {
        "run": args.run,
        "captions": {id_: each.caption for id_, each in captioned.said.items()},
        "refused": captioned.refused,
    }


def _show_captioned(captioned: captioning.Captioned, *, dataset: str, console: Console) -> None:

    rows = [(printable(id_), f"{exp(each.log_prob):.3f}", each.caption) for id_, each in captioned.said.items()]
    rows += [(printable(id_), "-", printable(why)) for id_, why in captioned.refused.items()]
    console.table(("video", "probability", "caption"), rows)
    console.say(report.trained_on(captioned.record, dataset=dataset))
