"""How much a trained run leans on its largest attention weights: mask the smaller ones, caption again, score.

The curve is written to metrics/RUN/mask.json; `framescribe report` draws it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import captioner, data, evaluation, params
from pipeline.core import Console, UsageError, write_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a trained run, an entry of the section `train` in params.yaml")
    parser.add_argument("--videos", type=int, metavar="N", help="the first N of the split (default: all)")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: metrics/RUN/mask.json)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    if args.videos is not None and args.videos < 1:
        raise UsageError(f"--videos is {args.videos}, allowed: 1 or more")
    values, device = params.load_params(), args.machine().device
    params.pick(values.train, args.run, kind="run")
    corpus = data.read_corpus(args.captions)
    videos = corpus.splits[values.caption.split][: args.videos]
    run = captioner.open_run(Path("runs") / args.run, device=device)
    probe = evaluation.MaskedRun(run, corpus, values.caption, videos, device)
    with console.progress(f"mask {args.run}", len(probe.modules()) * len(evaluation.RATIOS)) as progress:
        found = probe.curves(progress=progress)
    out = args.out or Path("metrics") / args.run / "mask.json"
    write_json(out, found)
    rows = [(label, *scores["CIDEr-D"]) for label, scores in found["modules"].items()]
    console.table(("CIDEr-D of module", *(f"{ratio:.0%} masked" for ratio in evaluation.RATIOS)), rows)
    return {"run": args.run, "out": str(out), "videos": len(videos)}
