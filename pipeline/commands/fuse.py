"""Late fusion: of the sentences that several runs wrote, the one that fits each video best.

A video-text embedding is trained on the features that the runs read and on the training captions; it then judges the
sentences in predictions/RUN.json of every run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline.console import Console
from pipeline.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="captioned runs, two or more")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN-or-RUN.json)")
    parser.add_argument("--epochs", type=int, default=30, help="of the embedding, at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.corpus import read_corpus
    from pipeline.embedding import Settings, train_judge
    from pipeline.ensembles import JoinedSource, open_runs
    from pipeline.fusion import fuse, read_candidates
    from pipeline.params import load_params
    from pipeline.publish import write_json

    if len(set(args.runs)) < 2:
        raise UsageError(f"fusion is of two runs or more, got {', '.join(args.runs)}")
    candidates = read_candidates({name: Path("predictions") / f"{name}.json" for name in args.runs})
    device = args.machine().device
    runs = open_runs([Path("runs") / name for name in args.runs], device=device)
    settings = Settings(epochs=args.epochs, seed=args.seed)
    with console.progress("train the embedding", settings.epochs) as progress:
        judge, rank = train_judge(
            read_corpus(args.captions),
            runs[0].vocabulary,
            JoinedSource([run.source for run in runs]),
            settings=settings,
            max_words=load_params().assemble.max_words,
            device=device,
            progress=progress,
        )
    name = "-or-".join(args.runs)
    out = args.out or Path("predictions") / f"{name}.json"
    chosen = fuse(candidates.by_run, judge)
    write_json(out, {"run": name, "split": candidates.split, "validation_rank": rank, "predictions": chosen})
    shares = {run: sum(entry["run"] == run for entry in chosen.values()) for run in args.runs}
    console.say(f"{out}: {len(chosen)} sentences, {', '.join(f'{count} of {run}' for run, count in shares.items())}")
    return {"run": name, "videos": len(chosen), "chosen": shares, "validation_rank": rank}
