"""The stage `train`: one run, or several at once, as many as there are workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core import Changes, Console, Executor, UsageError, no_changes, unchanged, write_text
from pipeline.params import Train, load_params, params_in_use, pick
from pipeline.store import FEATURES, MANIFEST
from pipeline.training.setup import prepare, publish_run
from pipeline.training.trainer import curves_csv

RUNS = Path("runs")
WORDS = Path("weights/words")  # dvc.yaml names this folder, so that a run is trained again when it changes


def train_named_runs(
    names: Sequence[str],
    *,
    captions: Path,
    out: Path | None,
    curves: Path | None,
    executor: Executor,
    device: str,
    console: Console,
) -> dict[str, Any]:
    """Entries of the section `train`; one here, several at once by the executor."""
    params = load_params()
    for name in names:
        for line in unseen_by_dvc(name, pick(params.train, name, kind="run")):
            console.say(line)
    if len(names) == 1:
        return TrainRun(captions, device, out, curves).train(names[0], console=console)
    if out is not None or curves is not None:
        raise UsageError("--out and --curves are for one RUN")
    return train_at_once(names, TrainRun(captions, device), executor, console=console)


def unseen_by_dvc(name: str, params: Train) -> list[str]:
    """What the run reads and the graph cannot name: DVC has no optional dependencies."""
    again = f"`dvc repro --force train@{name}`"
    lines = []
    if params.word_vectors and not Path(params.word_vectors).parent.resolve().is_relative_to(WORDS.resolve()):
        lines.append(f"{name}: dvc.yaml does not see {params.word_vectors} change; put it in {WORDS}/, or {again}")
    if params.start_from:
        lines.append(f"{name}: `dvc repro` does not see its start_from '{params.start_from}' change; {again} does")
    return lines


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
            out=self.out or RUNS / name,
            curves=self.curves or Path("metrics") / name / "curves.csv",
            params=params.train[name],
            max_words=params.assemble.max_words,
            device=self.device,
            console=console,
            in_use=params_in_use(params, f"train.{name}", "assemble.max_words"),
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
    in_use: Changes = no_changes,
) -> dict[str, Any]:
    with unchanged(files_read(params, captions=captions), values=in_use) as inputs:
        trainer = prepare(params, captions=captions, max_words=max_words, device=device)
        inputs.require_unchanged()  # progress is kept under the hashes of these files, so it must be of them
        with console.progress(f"train {name}", sum(stage.epochs for stage in params.stages)) as progress:
            history = trainer.run(progress)
        publish_run(out, name, trainer, history, inputs=inputs)
        write_text(curves, curves_csv(history))
    best = history.best
    console.say(f"{out}: best epoch {best.epoch} of {len(history.epochs)}, validation CIDEr-D {best.val_cider:.3f}")
    return {"run": name, "epochs": len(history.epochs), "best_epoch": best.epoch, "val_cider": best.val_cider}
