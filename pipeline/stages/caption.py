"""Write a sentence for every video of the test split with one trained run, or with several as one.

Or for any videos: VIDEO... --run RUN. A large split is captioned by the workers of the profile, a batch of videos at a
time; the files are the same to the last byte.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console, printable
from pipeline.errors import UsageError
from pipeline.execution import Executor

if TYPE_CHECKING:
    from pipeline.own_videos import Captioned
    from pipeline.params import Caption
    from pipeline.speaking import Spoken


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
    from pipeline.params import load_params, pick

    if args.run is not None:
        return _own_videos(args, console)
    params, machine = load_params(), args.machine()
    for each in args.names:
        if (Path("runs") / each / "run.json").is_file():  # a seed of a run is no entry of params.yaml
            continue
        if each not in params.train and Path(each).exists():
            raise UsageError(f"{each} is no run", hint=f"for videos: framescribe caption {each} --run RUN")
        pick(params.train, each, kind="run")
    groups = [[name] for name in args.names] if args.each else [args.names]
    speakers = {"+".join(group): [Path("runs") / name for name in group] for group in groups}
    if args.out is not None and len(speakers) > 1:
        raise UsageError("--out is the file of one run; with --each they are predictions/RUN.json")
    summaries = run(
        speakers,
        captions=args.captions,
        outs={name: args.out or Path("predictions") / f"{name}.json" for name in speakers},
        params=params.caption,
        executor=machine.executor,
        device=machine.device,
        console=console,
    )
    return {"runs": summaries} if args.each else next(iter(summaries.values()))


def _own_videos(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    import tempfile

    from pipeline.looks import without_looks
    from pipeline.own_videos import Settings, caption_own
    from pipeline.params import load_params
    from pipeline.publish import write_bytes, write_json
    from pipeline.report.captioned import render

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
    _show_captioned(captioned, dataset=params.dataset.name, console=console)
    for written in (args.html, args.out):
        if written is not None:
            console.say(f"written: {written}")
    return {
        "run": args.run,
        "captions": {id_: each.caption for id_, each in captioned.said.items()},
        "refused": captioned.refused,
    }


def _show_captioned(captioned: Captioned, *, dataset: str, console: Console) -> None:
    from pipeline.report.captioned import trained_on

    rows = [(printable(id_), f"{exp(each.log_prob):.3f}", each.caption) for id_, each in captioned.said.items()]
    rows += [(printable(id_), "-", printable(why)) for id_, why in captioned.refused.items()]
    console.table(("video", "probability", "caption"), rows)
    console.say(trained_on(captioned.record, dataset=dataset))


def run(
    speakers: Mapping[str, Sequence[Path]],
    *,
    captions: Path,
    outs: Mapping[str, Path],
    params: Caption,
    executor: Executor,
    device: str,
    console: Console,
) -> dict[str, dict[str, Any]]:
    """Each speaker is the folder of a run, or of several that speak as one; its file is there as soon as it is done."""
    from pipeline.corpus import read_corpus
    from pipeline.records import read_record
    from pipeline.speaking import CaptionShard, shards_of, worth_it

    for folder in (folder for each in speakers.values() for folder in each):
        read_record(folder)  # a missing run is told first
    video_ids = read_corpus(captions).splits[params.split]
    shards = {name: list(shards_of(name, folders, video_ids)) for name, folders in speakers.items()}
    waiting = [shard for each in shards.values() for shard in each]
    spoken: dict[str, list[Spoken]] = {name: [] for name in speakers}
    summaries = {}
    with console.progress(f"caption {' '.join(speakers)}", len(video_ids) * len(speakers)) as progress:
        for one in worth_it(executor, waiting, device=device).map(CaptionShard(params, device), waiting):
            spoken[one.name].append(one)
            progress.advance(len(one.predictions), note=one.name)
            if len(spoken[one.name]) == len(shards[one.name]):
                summaries[one.name] = _publish(spoken.pop(one.name), split=params.split, out=outs[one.name])
    for name, facts in summaries.items():
        console.say(f"{outs[name]}: {facts['videos']} sentences, {facts['distinct']} of them distinct")
    return {name: summaries[name] for name in speakers}


def _publish(spoken: Sequence[Spoken], *, split: str, out: Path) -> dict[str, Any]:
    from pipeline.looks import looks_path, write_looks
    from pipeline.publish import write_json

    ordered = sorted(spoken, key=lambda one: one.number)
    predictions = {video: said for one in ordered for video, said in one.predictions.items()}
    name = ordered[0].name
    write_looks(looks_path(out), {video: looks for one in ordered for video, looks in one.looks.items()})
    write_json(out, {"run": name, "split": split, "looks": ordered[0].facts, "predictions": predictions})
    distinct = len({said["caption"] for said in predictions.values()})
    return {"run": name, "videos": len(predictions), "distinct": distinct}
