"""Write a sentence for every video of the test split with one trained run, or with several as one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console

if TYPE_CHECKING:
    from pipeline.params import Caption


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", help="trained runs, entries of the section `train`; several: their mean")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN.json)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params = load_params()
    for name in args.run:
        pick(params.train, name, kind="run")
    name = "+".join(args.run)
    return run(
        name,
        folders=[Path("runs") / each for each in args.run],
        captions=args.captions,
        out=args.out or Path("predictions") / f"{name}.json",
        params=params.caption,
        device=args.machine().device,
        console=console,
    )


def run(
    name: str, *, folders: Sequence[Path], captions: Path, out: Path, params: Caption, device: str, console: Console
) -> dict[str, Any]:
    from dataclasses import asdict

    from pipeline.captioning import caption_videos
    from pipeline.corpus import read_corpus
    from pipeline.ensembles import open_speaker
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
    predictions = {video_id: asdict(sentence) for video_id, sentence in said.items()}
    write_json(out, {"run": name, "split": params.split, "predictions": predictions})
    distinct = len({sentence.caption for sentence in said.values()})
    console.say(f"{out}: {len(said)} sentences, {distinct} of them distinct")
    return {"run": name, "videos": len(said), "distinct": distinct}
