"""The only training loop: cross-entropy with teacher forcing, early stopping on validation CIDEr-D, resumable.

Everything random in an epoch (order of the captions, dropout) is seeded by (seed, epoch), so a run that was killed
and resumed from its last epoch goes on exactly as if it had never stopped.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.base import Captioner, State, select
from pipeline.batches import CaptionBatch, FeatureSource, training_pairs
from pipeline.captioning import caption_videos
from pipeline.checkpoint import load_progress, save_model, save_progress
from pipeline.console import SILENT, Progress
from pipeline.corpus import Corpus
from pipeline.metrics.cider import CiderScorer
from pipeline.params import Train
from pipeline.vocabulary import BOS, PAD, Vocabulary, tokenize


@dataclass(frozen=True)
class Epoch:
    """A line of the learning curve."""

    epoch: int
    train_loss: float  # mean per word
    val_cider: float  # CIDEr-D of greedy sentences


@dataclass
class History:
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def best(self) -> Epoch:
        return max(self.epochs, key=lambda line: line.val_cider)  # the first of equals

    def exhausted(self, *, patience: int, limit: int) -> bool:
        if not self.epochs:
            return False
        last = self.epochs[-1].epoch
        return last >= limit or last - self.best.epoch >= patience


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

    @property
    def best_path(self) -> Path:
        return self.folder / "best.safetensors"

    def run(self, progress: Progress = SILENT) -> History:
        optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=self.settings.learning_rate, weight_decay=self.settings.weight_decay
        )
        history = self._resume(optimizer)
        progress.advance(len(history.epochs))
        while not history.exhausted(patience=self.settings.patience, limit=self.settings.epochs):
            line = self._epoch(len(history.epochs) + 1, optimizer)
            history.epochs.append(line)
            if history.best is line:
                save_model(self.best_path, self.model)
            self._remember(history, optimizer)
            progress.advance(note=f"loss {line.train_loss:.3f}  val CIDEr-D {line.val_cider:.3f}")
        return history

    def _resume(self, optimizer: torch.optim.Optimizer) -> History:
        facts = load_progress(self.folder, self.model, optimizer)
        return History([Epoch(**line) for line in facts["history"]]) if facts else History()

    def _remember(self, history: History, optimizer: torch.optim.Optimizer) -> None:
        lines = [asdict(line) for line in history.epochs]
        save_progress(self.folder, self.model, optimizer, {"epoch": len(lines), "history": lines})

    def _epoch(self, number: int, optimizer: torch.optim.Optimizer) -> Epoch:
        seed = self.settings.seed * 1_000_003 + number
        torch.manual_seed(seed)
        pairs = training_pairs(self.corpus, self.vocabulary, max_words=self.max_words)
        total, words = 0.0, 0
        self.model.train()
        for batch in pairs.batches(self.settings.batch_size, seed=seed):
            loss, count = self._update(batch, optimizer)
            total += loss * count
            words += count
        return Epoch(number, total / words, self.validate())

    def _update(self, batch: CaptionBatch, optimizer: torch.optim.Optimizer) -> tuple[float, int]:
        features = self.source.batch(batch.video_ids, device=self.device)
        state = self.model.encode(features)
        captioned = select(state, batch.video_of.to(self.device))
        logits, words = teacher_forced(self.model, captioned, batch.words.to(self.device))
        loss = word_loss(logits, words, smoothing=self.settings.label_smoothing)
        optimizer.zero_grad(set_to_none=True)
        (loss + self.model.extra_loss(features, state).to(self.device)).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        optimizer.step()
        return float(loss.detach()), len(words)

    def validate(self) -> float:
        sentences = caption_videos(
            self.model,
            self.source,
            self.corpus.splits["val"],
            vocabulary=self.vocabulary,
            beam=1,
            max_words=self.max_words,
            device=self.device,
        )
        return self._scorer.score({video_id: said.caption for video_id, said in sentences.items()})[0]

    @cached_property
    def _scorer(self) -> CiderScorer:
        """Plain words instead of PTB tokens: no Java in the loop; only the choice of the best epoch rests on it."""
        references = self.corpus.references("val")
        return CiderScorer({id_: [" ".join(tokenize(text)) for text in texts] for id_, texts in references.items()})


def teacher_forced(model: Captioner, state: State, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (W, V) of all W real words of (N, T) captions given the right previous ones, and those words (W,).

    Longest captions first, so that finished ones leave the batch: padding costs nothing.
    """
    lengths, order = (targets != PAD).sum(1).sort(descending=True, stable=True)
    targets, state = targets[order], select(state, order)
    previous = torch.cat([torch.full_like(targets[:, :1], BOS), targets[:, :-1]], 1)
    outputs, words = [], []
    for position, active in enumerate(_active(lengths)):
        step = model.step(_first_rows(state, active), previous[:active, position])
        state = step.state
        outputs.append(step.output)
        words.append(targets[:active, position])
    return model.logits(torch.cat(outputs)), torch.cat(words)


def _active(lengths: Tensor) -> list[int]:
    """How many captions still have a word at each position."""
    return [int((lengths > position).sum()) for position in range(int(lengths[0]))]


def _first_rows(state: State, rows: int) -> State:
    return {name: tensor[:rows] if len(tensor) > rows else tensor for name, tensor in state.items()}


def word_loss(logits: Tensor, words: Tensor, *, smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy per word."""
    return F.cross_entropy(logits, words, label_smoothing=smoothing)


def curves_csv(history: History) -> str:
    lines = ["epoch,train_loss,val_cider"]
    lines += [f"{line.epoch},{line.train_loss:.6f},{line.val_cider:.6f}" for line in history.epochs]
    return "\n".join(lines) + "\n"
