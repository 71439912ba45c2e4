"""How much a trained run leans on its largest attention weights: mask the smaller ones, caption again, score.

The curve is written to metrics/RUN/mask.json; `framescribe report` draws it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline.console import Console
from pipeline.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a trained run, an entry of the section `train` in params.yaml")
    parser.add_argument("--videos", type=int, metavar="N", help="the first N of the split (default: all)")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: metrics/RUN/mask.json)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.corpus import read_corpus
    from pipeline.masking import RATIOS, MaskedRun
    from pipeline.params import load_params, pick
    from pipeline.publish import write_json
    from pipeline.runs import open_run

    if args.videos is not None and args.videos < 1:
        raise UsageError(f"--videos is {args.videos}, allowed: 1 or more")
    params, device = load_params(), args.machine().device
    pick(params.train, args.run, kind="run")
    corpus = read_corpus(args.captions)
    videos = corpus.splits[params.caption.split][: args.videos]
    run = open_run(Path("runs") / args.run, device=device)
    probe = MaskedRun(run, corpus, params.caption, videos, device)
    with console.progress(f"mask {args.run}", len(probe.modules()) * len(RATIOS)) as progress:
        found = probe.curves(progress=progress)
    out = args.out or Path("metrics") / args.run / "mask.json"
    write_json(out, found)
    rows = [(label, *scores["CIDEr-D"]) for label, scores in found["modules"].items()]
    console.table(("CIDEr-D of module", *(f"{ratio:.0%} masked" for ratio in RATIOS)), rows)
    return {"run": args.run, "out": str(out), "videos": len(videos)}
