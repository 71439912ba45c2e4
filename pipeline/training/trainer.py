"""The training loop of all captioners: stages of cross-entropy or self-critical training, early stopping, resumable.

Everything random in an epoch (order of the captions, dropout, samples) is seeded by (seed, epoch), and what is kept
within an epoch has the state of the generators, so a run that was killed goes on exactly as if it had never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from models.base import Captioner
from pipeline.captioner import (
    CaptionBatch,
    FeatureSource,
    Search,
    TrainingPairs,
    caption_videos,
    load_model,
    save_model,
    training_pairs,
)
from pipeline.core import SILENT, Progress
from pipeline.corpus import Corpus, Vocabulary
from pipeline.metrics import CiderScorer
from pipeline.params import Schedule, Train
from pipeline.training.batch_parts import cut_in_parts, note_rows
from pipeline.training.data_parallel import DataParallel
from pipeline.training.divergence import naming_step, require_finite_update, require_finite_weights
from pipeline.training.epoch_progress import told_within
from pipeline.training.history import Epoch, History, PartialEpoch, UpdateResult
from pipeline.training.progress import AGAIN, drop_damaged_progress, load_progress, read_progress, save_progress
from pipeline.training.replica import Judge, Replica
from pipeline.training.rewards import Rewards
from pipeline.training.schedules import make_optimizer, own_words_at, rate_at, set_rate
from pipeline.training.self_critical import judge_captions
from pipeline.training.weight_average import averaged_weights, update_average


@dataclass(frozen=True)
class Trainer:
    model: Captioner
    corpus: Corpus
    vocabulary: Vocabulary
    source: FeatureSource
    settings: Train
    max_words: int
    folder: Path  # progress and best model; outside DVC's outputs, so that a killed run finds it again
    device: str
    others: Sequence[str] = ()  # devices of further workers for the parts of a batch; no result depends on them
    tables: dict[str, Tensor] = field(default_factory=dict)  # the model's own, kept between epochs
    keep_every: float = 600.0  # seconds after which half an epoch is kept too; no result depends on it
    on_epoch: Callable[[Epoch], None] = lambda _: None  # told of each epoch, of those that were kept too

    def best_path(self, history: History) -> Path:
        """Named by its epoch: a model that was saved just before a kill is not taken for the best of those recorded."""
        return self.folder / f"best-{history.best.epoch:04d}.safetensors"

    def run(self, progress: Progress = SILENT) -> History:
        if drop_damaged_progress(self.folder):
            progress.advance(0, note="what was kept of it is damaged: from the beginning")
        kept = read_progress(self.folder)
        history, part = History([Epoch(**line) for line in kept["history"]]), PartialEpoch(**kept["part"])
        progress.advance(len(history.epochs))
        for line in history.epochs:
            self.on_epoch(line)
        replica = Replica(self.model, self.source, self.device, self.max_words)
        with DataParallel(replica, self.settings, vocabulary=len(self.vocabulary), others=self.others) as workers:
            for number, stage in enumerate(self.settings.stages, 1):
                if not history.of(number).exhausted(patience=stage.patience, limit=stage.epochs):
                    begun = part if part.stage == number else PartialEpoch(number)
                    self._stage(number, stage, history, begun, progress, workers)
        return history

    def _stage(
        self,
        number: int,
        stage: Schedule,
        history: History,
        part: PartialEpoch,
        progress: Progress,
        workers: DataParallel,
    ) -> None:
        optimizer = make_optimizer(self.model, stage)
        if history.of(number).epochs or part.steps:
            load_progress(self.folder, self.model, optimizer, self.tables)
        else:
            self._begin(number, stage, history)
        with ExitStack() as stack:
            rewards = stack.enter_context(self._rewards(stage)) if stage.rewards else None
            while not history.of(number).exhausted(patience=stage.patience, limit=stage.epochs):
                update = partial(
                    self._update,
                    workers=workers,
                    optimizer=optimizer,
                    stage=stage,
                    epoch=len(history.epochs) + 1,
                    passed=len(history.of(number).epochs),
                    own_words=own_words_at(stage, len(history.epochs)),
                    rewards=rewards,
                )
                remember = partial(self._remember, history, optimizer)
                whole = self._epoch(len(history.epochs) + 1, update, remember, part, progress)
                part = PartialEpoch(number)
                with averaged_weights(optimizer):
                    line = whole.line(len(history.epochs) + 1, self.validate())
                    history.epochs.append(line)
                    self.on_epoch(line)
                    if history.of(number).best is line:
                        save_model(self.best_path(history.of(number)), self.model)
                remember(PartialEpoch())
                self._forget(history)
                progress.advance(note=_note(line))

    def _begin(self, number: int, stage: Schedule, history: History) -> None:
        """A stage goes on from the best model of the one before it, and with empty tables."""
        torch.manual_seed(_seed(self.settings.seed, len(history.epochs)))
        if history.epochs:
            load_model(self.best_path(history.of(number - 1)), self.model, hint=AGAIN)
        self.tables.clear()
        self.model.begin(stage.stage)

    def _remember(self, history: History, optimizer: torch.optim.Optimizer, part: PartialEpoch) -> None:
        lines = [asdict(line) for line in history.epochs]
        models = sorted(path.name for path in self._wanted(history))
        facts = {"epoch": len(lines), "history": lines, "part": asdict(part), "models": models}
        save_progress(self.folder, self.model, optimizer, self.tables, facts)

    def _forget(self, history: History) -> None:
        for file in self.folder.glob("best-*.safetensors"):
            if file not in self._wanted(history):
                file.unlink()

    def _wanted(self, history: History) -> set[Path]:
        """The best model, and that of the stage, from which the next one begins."""
        last = history.epochs[-1:]
        return {self.best_path(lines) for line in last for lines in (history, history.of(line.stage))}

    def _epoch(
        self,
        number: int,
        update: Callable[[CaptionBatch, int], UpdateResult],
        remember: Callable[[PartialEpoch], None],
        part: PartialEpoch,
        progress: Progress,
    ) -> PartialEpoch:
        """All its updates; from where it was left, if it was."""
        seed = _seed(self.settings.seed, number)
        if not part.steps:
            torch.manual_seed(seed)
        self.model.train()
        per_video = self.settings.captions_per_video
        batches = self._pairs.batches(self.settings.batch_size, seed=seed, per_video=per_video)
        kept = time.monotonic()
        left = islice(batches, part.steps, None)
        for batch in told_within(left, progress, epoch=number, done=part.steps, steps=self.steps):
            with naming_step(self.model, batch, epoch=number, step=part.steps + 1):
                part = part.plus(len(batch.words), update(batch, part.steps))
            if time.monotonic() - kept >= self.keep_every:
                require_finite_weights(self.model, f"epoch {number}, step {part.steps}")
                remember(part)
                kept = time.monotonic()
        require_finite_weights(self.model, f"epoch {number}, step {part.steps}")
        return part

    def _update(
        self,
        batch: CaptionBatch,
        step: int,
        *,
        workers: DataParallel,
        optimizer: torch.optim.Optimizer,
        stage: Schedule,
        epoch: int,
        passed: int,  # epochs of the stage
        own_words: float,
        rewards: Rewards | None,
    ) -> UpdateResult:
        set_rate(optimizer, rate_at(stage, passed + step / self.steps))
        optimizer.zero_grad(set_to_none=True)
        seed = (self.settings.seed, epoch, step)
        parts = cut_in_parts(batch, self.settings.parts, tables=self.tables, seed=seed)
        results = workers.gradients(parts, stage, own_words=own_words, judge=self._judge(rewards))
        loss = sum(result.loss for result in results)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), stage.clip)
        require_finite_update(loss, norm)
        optimizer.step()
        if stage.weight_average:
            update_average(optimizer, stage.weight_average, updates=passed * self.steps + step)
        for part, result in zip(parts, results, strict=True):
            note_rows(self.tables, result.tables, part.captions.pairs, total=len(self._pairs), device=self.device)
        earned = [result.reward for result in results if result.reward is not None]
        return UpdateResult(loss, float(torch.cat(earned).mean()) if earned else None)

    def _judge(self, rewards: Rewards | None) -> Judge | None:
        if rewards is None:
            return None
        return partial(judge_captions, rewards=rewards, vocabulary=self.vocabulary, max_words=self.max_words)

    def _rewards(self, stage: Schedule) -> Rewards:
        corpus = self.corpus
        return Rewards(corpus.references("train"), dict(stage.rewards), end_word=stage.end_word, words=corpus.words)

    @cached_property
    def _pairs(self) -> TrainingPairs:
        return training_pairs(self.corpus, self.vocabulary, max_words=self.max_words)

    @cached_property
    def steps(self) -> int:
        """Updates in an epoch."""
        return self._pairs.steps(self.settings.batch_size, per_video=self.settings.captions_per_video)

    def validate(self, *, beam: int = 1) -> float:
        """CIDEr-D of the validation videos."""
        generated = caption_videos(
            self.model,
            self.source,
            self.corpus.splits["val"],
            vocabulary=self.vocabulary,
            search=Search(beam, self.max_words),
            device=self.device,
        )
        return self._scorer.score({video_id: each.caption for video_id, each in generated.items()})[0]

    @cached_property
    def _scorer(self) -> CiderScorer:
        """Plain words instead of PTB tokens: no Java in the loop; only the choice of the best epoch rests on it."""
        return CiderScorer(self.corpus.word_references("val"))


def _seed(seed: int, epoch: int) -> int:
    return seed * 1_000_003 + epoch


def _note(line: Epoch) -> str:
    reward = "" if line.reward is None else f"  reward {line.reward:.3f}"
    return f"loss {line.train_loss:.3f}{reward}  val CIDEr-D {line.val_cider:.3f}"
