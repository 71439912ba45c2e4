"""Train a run: the model, features and schedule of an entry of the section `train` in params.yaml.

Several runs, such as the seeds of one model, are trained at once, as many as the profile has workers.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pipeline.console import Console
from pipeline.errors import UsageError
from pipeline.execution import Executor

if TYPE_CHECKING:
    from pipeline.params import Train


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", help="entries of the section `train` in params.yaml")
    parser.add_argument("--captions", type=Path, default=Path("data/captions"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/RUN); for one RUN")
    parser.add_argument("--curves", type=Path, help="learning curve as CSV (default: metrics/RUN/curves.csv); for one")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params, machine = load_params(), args.machine()
    for name in args.run:
        pick(params.train, name, kind="run")
    if len(args.run) == 1:
        work = TrainRun(args.captions, device=machine.device, out=args.out, curves=args.curves)
        return work.train(args.run[0], console=console)
    if args.out is not None or args.curves is not None:
        raise UsageError("--out and --curves are for one RUN")
    return _at_once(args.run, TrainRun(args.captions, device=machine.device), machine.executor, console=console)


@dataclass(frozen=True)
class TrainRun:
    """Work for an executor."""

    captions: Path
    device: str
    out: Path | None = None
    curves: Path | None = None
    takes_hours: ClassVar[bool] = True

    def __call__(self, name: str) -> dict[str, Any]:
        return self.train(name, console=Console(quiet=True))

    def train(self, name: str, *, console: Console) -> dict[str, Any]:
        from pipeline.params import load_params

        params = load_params()
        return run(
            name,
            captions=self.captions,
            out=self.out or Path("runs") / name,
            curves=self.curves or Path("metrics") / name / "curves.csv",
            params=params.train[name],
            max_words=params.assemble.max_words,
            device=self.device,
            console=console,
        )


def _at_once(names: list[str], work: TrainRun, executor: Executor, *, console: Console) -> dict[str, Any]:
    found = {}
    with console.progress("train", len(names)) as progress:
        for summary in executor.map(work, names):
            found[summary["run"]] = summary
            progress.advance(note=summary["run"])
    rows = [(name, found[name]["epochs"], found[name]["best_epoch"], found[name]["val_cider"]) for name in names]
    console.table(("run", "epochs", "best", "validation CIDEr-D"), rows)
    return {"runs": found}


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
