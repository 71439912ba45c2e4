"""Train one run: the model, features and schedule of an entry of the section `train` in params.yaml."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console

if TYPE_CHECKING:
    from pipeline.params import Train


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="an entry of the section `train` in params.yaml")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/RUN)")
    parser.add_argument("--curves", type=Path, help="learning curve as CSV (default: metrics/RUN/curves.csv)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params = load_params()
    return run(
        args.run,
        captions=args.captions,
        out=args.out or Path("runs") / args.run,
        curves=args.curves or Path("metrics") / args.run / "curves.csv",
        params=pick(params.train, args.run, kind="run"),
        max_words=params.assemble.max_words,
        device=args.machine().device,
        console=console,
    )


def run(
    name: str, *, captions: Path, out: Path, curves: Path, params: Train, max_words: int, device: str, console: Console
) -> dict[str, Any]:
    from pipeline.publish import write_text
    from pipeline.runs import prepare, publish_run
    from pipeline.training import curves_csv

    trainer = prepare(params, captions=captions, max_words=max_words, device=device)
    with console.progress(f"train {name}", sum(stage.epochs for stage in params.stages)) as progress:
        history = trainer.run(progress)
    publish_run(out, name, trainer, history)
    write_text(curves, curves_csv(history))
    best = history.best
    console.say(f"{out}: best epoch {best.epoch} of {len(history.epochs)}, validation CIDEr-D {best.val_cider:.3f}")
    return {"run": name, "epochs": len(history.epochs), "best_epoch": best.epoch, "val_cider": best.val_cider}
