"""Write a sentence for every video of the test split with one trained run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console

if TYPE_CHECKING:
    from pipeline.params import Caption


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a trained run, an entry of the section `train` in params.yaml")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN.json)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params = load_params()
    pick(params.train, args.run, kind="run")
    return run(
        args.run,
        folder=Path("runs") / args.run,
        captions=args.captions,
        out=args.out or Path("predictions") / f"{args.run}.json",
        params=params.caption,
        device=args.machine().device,
        console=console,
    )


def run(
    name: str, *, folder: Path, captions: Path, out: Path, params: Caption, device: str, console: Console
) -> dict[str, Any]:
    from dataclasses import asdict

    from pipeline.captioning import caption_videos
    from pipeline.corpus import read_corpus
    from pipeline.publish import write_json
    from pipeline.runs import open_run

    trained = open_run(folder, device=device)
    video_ids = read_corpus(captions).splits[params.split]
    with console.progress(f"caption {name}", len(video_ids)) as progress:
        said = caption_videos(
            trained.model,
            trained.source,
            video_ids,
            vocabulary=trained.vocabulary,
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
