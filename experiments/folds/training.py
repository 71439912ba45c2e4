"""One recipe, fold and seed: trained by the project's own loop, and what that took."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.folds.recipe import Recipe
from experiments.seeds import captions_an_epoch
from pipeline.core import SILENT, InputError, Progress, file_sha256, read_sealed_json, write_sealed_json
from pipeline.training import publish_run

RUNS = Path("runs")


@dataclass(frozen=True)
class FoldRun:
    """A recipe with one seed on one fold; `captions` is the fold's folder, without a caption of what is held out."""

    recipe: Recipe
    fold: int
    seed: int
    captions: Path
    results: Path

    @property
    def name(self) -> str:
        return self._named(self.recipe.name)

    @property
    def folder(self) -> Path:
        """Beside the runs of another cross-validation, which may have seen what this fold holds out."""
        return RUNS / f"{self.results.name}-{self.name}"

    @property
    def weights(self) -> Path:
        return self.folder / "model.safetensors"

    @property
    def record(self) -> Path:
        return self.results / "trained" / f"{self.name}.json"

    @property
    def seconds(self) -> Path:
        return self.results / "seconds" / f"{self.name}.json"

    def is_done(self) -> bool:
        """Trained by these very params on these very captions; what others left there is refused, not replaced."""
        if not (self.record.is_file() and self.weights.is_file()):
            return False
        known = read_sealed_json(self.record, hint=f"remove {self.record} to train it again")
        if known["decided_by"] != self._decided_by():
            raise InputError(
                f"{self.record} is of other params or other captions than {self.recipe.name} has now",
                hint=f"give the recipe another name, or remove {self.record} to train it again",
            )
        if known["weights_sha256"] != file_sha256(self.weights):
            raise InputError(
                f"{self.weights} is not what {self.record} tells of: its model may have seen what the fold holds out",
                hint=f"remove {self.record} to train it again",
            )
        return True

    def train(self, progress: Progress = SILENT) -> None:
        """A run that this one starts from is that of the same fold and seed."""
        before = self.recipe.train.start_from
        start_from = f"{self.results.name}-{self._named(before)}" if before else ""
        trainer = self.recipe.trainer(self.captions, seed=self.seed, start_from=start_from)
        history = trainer.run(EpochWatch(self.seconds, progress))
        publish_run(self.folder, self.folder.name, trainer, history)
        stages = self.recipe.train.stages
        facts = {
            "captions": sum(captions_an_epoch(trainer, stages[line.stage - 1]) for line in history.epochs),
            "updates": len(history.epochs) * trainer.steps,
            "parameters": sum(weights.numel() for weights in trainer.model.parameters()),
            "best_epoch": history.best.epoch,
            "curve": [asdict(line) for line in history.epochs],
            "decided_by": self._decided_by(),
            "weights_sha256": file_sha256(self.weights),
        }
        write_sealed_json(self.record, facts)

    def _named(self, recipe: str) -> str:
        return f"{recipe}-fold{self.fold}-{self.seed}"

    def _decided_by(self) -> dict[str, Any]:
        captions = {name: file_sha256(self.captions / name) for name in ("captions.json", "vocabulary.json")}
        return {"params": self.recipe.train.model_dump(), **self.recipe.assemble.model_dump(), "captions": captions}


@dataclass
class EpochWatch:
    """Processor seconds of every epoch, written as it ends: a run that was stopped forgets none.

    What had been done of the epoch in which it was stopped is lost, here as in training.
    """

    path: Path
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    _done: int = 0
    _since: float = field(default_factory=time.process_time)

    def __post_init__(self) -> None:
        self.seconds = read_seconds(self.path)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """The loop says the scores of an epoch that has just ended in a note; those that were kept have none."""
        self._done += steps
        if steps and note:
            now = time.process_time()
            self.seconds[f"{self._done}"] = round(now - self._since, 3)
            self._since = now
            write_sealed_json(self.path, self.seconds)
        self.progress.advance(steps, note)


def read_seconds(path: Path) -> dict[str, float]:
    return read_sealed_json(path, hint=f"remove {path}") if path.is_file() else {}
