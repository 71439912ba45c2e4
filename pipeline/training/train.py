"""The stage `train`: one run, or several at once, as many as there are workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core import Console, Executor, write_text
from pipeline.params import Train, load_params
from pipeline.training.setup import prepare, publish_run
from pipeline.training.trainer import curves_csv


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

        params = load_params()
        return train_run(
            name,
            captions=self.captions,
            out=self.out or Path("runs") / name,
            curves=self.curves or Path("metrics") / name / "curves.csv",
            params=params.train[name],
            max_words=params.assemble.max_words,
            device=self.device,
            console=console,
        )


def train_at_once(names: list[str], work: TrainRun, executor: Executor, *, console: Console) -> dict[str, Any]:
    found = {}
    with console.progress("train", len(names)) as progress:
        for summary in executor.map(work, names):
            found[summary["run"]] = summary
            progress.advance(note=summary["run"])
    rows = [(name, found[name]["epochs"], found[name]["best_epoch"], found[name]["val_cider"]) for name in names]
    console.table(("run", "epochs", "best", "validation CIDEr-D"), rows)
    return {"runs": found}


def train_run(
    name: str, *, captions: Path, out: Path, curves: Path, params: Train, max_words: int, device: str, console: Console
) -> dict[str, Any]:

    trainer = prepare(params, captions=captions, max_words=max_words, device=device)
    with console.progress(f"train {name}", sum(stage.epochs for stage in params.stages)) as progress:
        history = trainer.run(progress)
    publish_run(out, name, trainer, history)
    write_text(curves, curves_csv(history))
    best = history.best
    console.say(f"{out}: best epoch {best.epoch} of {len(history.epochs)}, validation CIDEr-D {best.val_cider:.3f}")
    return {"run": name, "epochs": len(history.epochs), "best_epoch": best.epoch, "val_cider": best.val_cider}
