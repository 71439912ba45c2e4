"""Write a sentence for every video of the test split with one trained run, or with several as one.

Or for any videos: VIDEO... --run RUN.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console, printable
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.params import Caption


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", metavar="RUN | VIDEO", help="trained runs, several as one; with --run: videos or folders"
    )
    parser.add_argument("--run", help="caption the videos given, by this trained run")
    parser.add_argument("--html", type=Path, help="with --run: a page with frames and where each word looked")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN.json; with --run: none)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    if args.run is not None:
        return _own_videos(args, console)
    params, name = load_params(), "+".join(args.names)
    for each in args.names:
        if each not in params.train and Path(each).exists():
            raise UsageError(f"{each} is no run", hint=f"for videos: framescribe caption {each} --run RUN")
        pick(params.train, each, kind="run")
    return run(
        name,
        folders=[Path("runs") / each for each in args.names],
        captions=args.captions,
        out=args.out or Path("predictions") / f"{name}.json",
        params=params.caption,
        device=args.machine().device,
        console=console,
    )


def _own_videos(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    import tempfile

    from pipeline.looks import without_looks
    from pipeline.own_videos import Settings, caption_own
    from pipeline.params import load_params
    from pipeline.publish import write_bytes, write_json
    from pipeline.report.captioned import render, trained_on

    params, machine = load_params(), args.machine()
    with tempfile.TemporaryDirectory() as work:
        settings = Settings(
            extractors=params.extract,
            decode=params.decode,
            caption=params.caption,
            executor=machine.executor,
            device=machine.device,
            work=Path(work),
        )
        captioned = caption_own(
            [Path(name) for name in args.names], run=Path("runs") / args.run, settings=settings, console=console
        )
        if args.html is not None:
            write_bytes(args.html, render(captioned, dataset=params.dataset.name).encode(errors="replace"))
    if args.out is not None:
        write_json(args.out, {"run": args.run, "predictions": without_looks(captioned.said.items())})
    rows = [(printable(id_), f"{exp(each.log_prob):.3f}", each.caption) for id_, each in captioned.said.items()]
    rows += [(printable(id_), "-", printable(why)) for id_, why in captioned.refused.items()]
    console.table(("video", "probability", "caption"), rows)
    console.say(trained_on(captioned.record, dataset=params.dataset.name))
    return {
        "run": args.run,
        "captions": {id_: each.caption for id_, each in captioned.said.items()},
        "refused": captioned.refused,
    }


def run(
    name: str, *, folders: Sequence[Path], captions: Path, out: Path, params: Caption, device: str, console: Console
) -> dict[str, Any]:
    from pipeline.captioning import caption_videos
    from pipeline.corpus import read_corpus
    from pipeline.ensembles import open_speaker
    from pipeline.looks import looks_path, without_looks, write_looks
    from pipeline.publish import write_json

    speaker = open_speaker(folders, device=device)
    video_ids = read_corpus(captions).splits[params.split]
    with console.progress(f"caption {name}", len(video_ids)) as progress:
        said = caption_videos(
            speaker.model,
            speaker.source,
            video_ids,
            vocabulary=speaker.vocabulary,
            beam=params.beam,
            max_words=params.max_words,
            length_power=params.length_power,
            device=device,
            progress=progress,
        )
    looks = {video_id: speaker.geometry.looks(video_id, each.attention) for video_id, each in said.items()}
    facts = {"run": name, "split": params.split, "looks": speaker.geometry.facts()}
    write_looks(looks_path(out), looks)
    write_json(out, facts | {"predictions": without_looks(said.items())})
    distinct = len({sentence.caption for sentence in said.values()})
    console.say(f"{out}: {len(said)} sentences, {distinct} of them distinct")
    return {"run": name, "videos": len(said), "distinct": distinct}
