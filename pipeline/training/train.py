"""The stage `train`: one run, or several at once, as many as there are workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core import Changes, Console, Executor, UsageError, no_changes, unchanged, write_text
from pipeline.params import Train, load_params, params_in_use, pick
from pipeline.store import FEATURES, MANIFEST
from pipeline.training.history import curves_csv
from pipeline.training.live_curves import live_curves
from pipeline.training.setup import prepare, publish_run

RUNS = Path("runs")
FEW_STEPS = 100  # of 16, on the clips of docs/datasets.md, nothing was learnt; of 360, sentences


def train_named_runs(
    names: Sequence[str],
    *,
    captions: Path,
    out: Path | None,
    curves: Path | None,
    live: Sequence[str] = (),
    executor: Executor,
    device: str,
    console: Console,
    others: Sequence[str] = (),
) -> dict[str, Any]:
    """Entries of the section `train`; one here and on `others`, several at once by the executor."""
    params = load_params()
    for name in names:
        pick(params.train, name, kind="run")
    if len(names) == 1:
        return TrainRun(captions, device, out, curves, tuple(others), live).train(names[0], console=console)
    if out is not None or curves is not None:
        raise UsageError("--out and --curves are for one RUN")
    return train_at_once(names, TrainRun(captions, device, live=live), executor, console=console)


@dataclass(frozen=True)
class TrainRun:
    """Work for an executor."""

    captions: Path
    device: str
    out: Path | None = None
    curves: Path | None = None
    others: tuple[str, ...] = ()  # devices of further workers for the parts of a batch
    live: Sequence[str] = ()  # viewers of the curves
    takes_hours: ClassVar[bool] = True

    def __call__(self, name: str) -> dict[str, Any]:
        return self.train(name, console=Console(quiet=True))

    def train(self, name: str, *, console: Console) -> dict[str, Any]:
        params = load_params()
        return train_run(
            name,
            captions=self.captions,
            out=self.out or RUNS / name,
            curves=self.curves or Path("metrics") / name / "curves.csv",
            params=params.train[name],
            max_words=params.assemble.max_words,
            device=self.device,
            others=self.others,
            console=console,
            in_use=params_in_use(params, f"train.{name}", "assemble.max_words"),
            live=self.live,
        )


def files_read(params: Train, *, captions: Path) -> list[Path]:
    """Captions, the stores by their manifests, which know all their shards, and what the weights begin with."""
    stores = [FEATURES / name / MANIFEST for name in params.features.model_dump().values()]
    vectors = [Path(params.word_vectors)] if params.word_vectors else []
    return [captions, *stores, *vectors, *([RUNS / params.start_from] if params.start_from else [])]


def train_at_once(names: Sequence[str], work: TrainRun, executor: Executor, *, console: Console) -> dict[str, Any]:
    found = {}
    with console.progress("train", len(names)) as progress:
        for summary in executor.map(work, names):
            found[summary["run"]] = summary
            progress.advance(note=summary["run"])
    rows = [(name, found[name]["epochs"], found[name]["best_epoch"], found[name]["val_cider"]) for name in names]
    console.table(("run", "epochs", "best", "validation CIDEr-D"), rows)
    return {"runs": found}


def few_steps(each: int, epochs: int) -> str:
    """Of a handful of captions an epoch is a step or two, and the best epoch says nothing yet."""
    if each * epochs >= FEW_STEPS:
        return ""
    return (
        f"{each * epochs} steps in all ({each} an epoch) are too few to learn sentences;"
        " lower batch_size, raise epochs and patience; `framescribe dataset use` does so for a small set"
    )


def train_run(
    name: str,
    *,
    captions: Path,
    out: Path,
    curves: Path,
    params: Train,
    max_words: int,
    device: str,
    console: Console,
    others: Sequence[str] = (),
    in_use: Changes = no_changes,
    live: Sequence[str] = (),
) -> dict[str, Any]:
    with unchanged(files_read(params, captions=captions), values=in_use) as inputs:
        trainer = prepare(params, captions=captions, max_words=max_words, device=device, others=others)
        inputs.require_unchanged()  # progress is kept under the hashes of these files, so it must be of them
        epochs = sum(stage.epochs for stage in params.stages)
        if told := few_steps(trainer.steps, epochs):
            console.say(f"warning: {name}: {told}")
        with live_curves(name, live) as tell, console.progress(f"train {name}", epochs) as progress:
            history = replace(trainer, on_epoch=tell).run(progress)
        publish_run(out, name, trainer, history, inputs=inputs)
        write_text(curves, curves_csv(history))
    best = history.best
    console.say(f"{out}: best epoch {best.epoch} of {len(history.epochs)}, validation CIDEr-D {best.val_cider:.3f}")
    return {"run": name, "epochs": len(history.epochs), "best_epoch": best.epoch, "val_cider": best.val_cider}
