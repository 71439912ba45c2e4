"""Late fusion: of the sentences that several runs wrote, the one that fits each video best.

A video-text embedding is trained on the features that the runs read and on the training captions; it then judges the
sentences in predictions/RUN.json of every run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import captioner, captioning, data, params
from pipeline.core import Console, UsageError, write_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="captioned runs, two or more; RUN+RUN is an ensemble")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="(default: predictions/RUN-or-RUN.json)")
    parser.add_argument("--epochs", type=int, default=30, help="of the embedding, at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    _check(args)
    candidates = captioning.read_candidates({name: Path("predictions") / f"{name}.json" for name in args.runs})
    judge, rank = _trained_judge(args, console)
    name = "-or-".join(args.runs)
    out = args.out or Path("predictions") / f"{name}.json"
    chosen = captioning.fuse(candidates.by_run, judge)
    write_json(out, {"run": name, "split": candidates.split, "validation_rank": rank, "predictions": chosen})
    shares = {run: sum(entry["run"] == run for entry in chosen.values()) for run in args.runs}
    console.say(f"{out}: {len(chosen)} sentences, {', '.join(f'{count} of {run}' for run, count in shares.items())}")
    return {"run": name, "videos": len(chosen), "chosen": shares, "validation_rank": rank}


def _check(args: argparse.Namespace) -> None:
    if len(set(args.runs)) < 2:
        raise UsageError(f"fusion is of two runs or more, got {', '.join(args.runs)}")
    if args.epochs < 1:
        raise UsageError(f"--epochs is {args.epochs}, allowed: 1 or more")


def _trained_judge(args: argparse.Namespace, console: Console) -> tuple[captioning.Judge, float]:
    """On the features of all runs, an ensemble's members among them."""

    device = args.machine().device
    members = dict.fromkeys(member for name in args.runs for member in name.split("+"))
    sources = [captioner.open_run(Path("runs") / member, device=device).source for member in members]
    settings = captioning.RerankerSettings(epochs=args.epochs, seed=args.seed)
    with console.progress("train the embedding", settings.epochs) as progress:
        return captioning.train_judge(
            data.read_corpus(args.captions),
            data.read_vocabulary(args.captions / "vocabulary.json"),  # the judge's own: runs may have any
            captioning.JoinedSource(sources),
            settings=settings,
            max_words=params.load_params().assemble.max_words,
            device=device,
            progress=progress,
        )
