"""The video-text embedding: trained on the same captions as the runs, it says which of several sentences fits best."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.base import Features
from models.parts.embedding import VideoTextEmbedding, hardest_negative_loss
from pipeline.captioner import CaptionBatch, Source, TrainingPairs, training_pairs
from pipeline.core import SILENT, Progress
from pipeline.data import PAD, Corpus, Vocabulary, tokenize

VIDEOS = 64  # read at a time
SENTENCES = 256  # the same: each has 2,048 numbers for every word of the longest


@dataclass(frozen=True)
class RerankerSettings:
    """VSE++'s published ones, and when to stop."""

    epochs: int = 30
    patience: int = 5  # epochs without a better validation rank
    batch_size: int = 128
    learning_rate: float = 2e-4
    drop_every: int = 15  # epochs after which the rate is a tenth
    margin: float = 0.2
    clip: float = 2.0
    word_size: int = 300
    size: int = 1024  # of the common space
    seed: int = 0

    def rate_at(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1."""
        return self.learning_rate * 0.1 ** ((epoch - 1) // self.drop_every)


@dataclass(frozen=True)
class Judge:
    """Says how well sentences fit a video."""

    model: VideoTextEmbedding
    source: Source
    vocabulary: Vocabulary
    device: str = "cpu"

    def similarities(self, video_id: str, candidates: Sequence[str]) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            video = self.model.video(self.source.batch([video_id], device=self.device))
            return self._texts(candidates) @ video[0]

    def rank(self, references: Mapping[str, Sequence[str]]) -> float:
        """Mean over videos of 1 / rank of their own best sentence among everybody's; 1 is perfect."""
        self.model.eval()
        owners = torch.tensor([number for number, texts in enumerate(references.values()) for _ in texts])
        with torch.no_grad():
            texts = self._texts([text for texts in references.values() for text in texts])  # (N, D)
            scores = torch.cat([self.model.video(part) @ texts.T for part in self._batches([*references])])  # (B, N)
        own = owners.to(scores.device) == torch.arange(len(references), device=scores.device).unsqueeze(1)
        best = scores.masked_fill(~own, -torch.inf).amax(1, keepdim=True)
        return float((1 / (1 + (scores > best).sum(1))).mean())

    def _batches(self, video_ids: list[str]) -> list[Features]:
        starts = range(0, len(video_ids), VIDEOS)
        return [self.source.batch(video_ids[start : start + VIDEOS], device=self.device) for start in starts]

    def _texts(self, sentences: Sequence[str]) -> Tensor:
        starts = range(0, len(sentences), SENTENCES)
        return torch.cat([self.model.text(self._numbers(sentences[start : start + SENTENCES])) for start in starts])

    def _numbers(self, sentences: Sequence[str]) -> Tensor:
        rows = [torch.tensor(self.vocabulary.encode(tokenize(sentence))) for sentence in sentences]
        return pad_sequence(rows, batch_first=True, padding_value=PAD).to(self.device)


def train_judge(
    corpus: Corpus,
    vocabulary: Vocabulary,
    source: Source,
    *,
    settings: RerankerSettings,
    max_words: int,
    device: str = "cpu",
    progress: Progress = SILENT,
) -> tuple[Judge, float]:
    """The judge of the best epoch and its validation rank."""
    torch.manual_seed(settings.seed)
    pairs = training_pairs(corpus, vocabulary, max_words=max_words)
    features = source.batch(pairs.video_ids[:1], device=device)
    sizes = {name: part.values.shape[-1] for name, part in features.items()}
    model = VideoTextEmbedding(
        vocabulary=len(vocabulary), sizes=sizes, word_size=settings.word_size, size=settings.size
    ).to(device)
    judge = Judge(model, source, vocabulary, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    best, best_epoch, kept = -1.0, 0, model.state_dict()
    for epoch in range(1, settings.epochs + 1):
        optimizer.param_groups[0]["lr"] = settings.rate_at(epoch)
        loss = _epoch(judge, pairs, optimizer, settings, seed=settings.seed * 1_000_003 + epoch)
        rank = judge.rank(corpus.references("val"))
        progress.advance(note=f"loss {loss:.3f}  validation rank {rank:.3f}")
        if rank > best:
            best, best_epoch, kept = rank, epoch, copy.deepcopy(model.state_dict())
        if epoch - best_epoch >= settings.patience:
            break
    model.load_state_dict(kept)
    return judge, best


def _epoch(
    judge: Judge, pairs: TrainingPairs, optimizer: torch.optim.Optimizer, settings: RerankerSettings, *, seed: int
) -> float:
    judge.model.train()
    total = 0.0
    for batch in pairs.batches(settings.batch_size, seed=seed):
        loss = _loss(judge, batch, margin=settings.margin)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(judge.model.parameters(), settings.clip)
        optimizer.step()
        total += float(loss.detach())
    return total / len(pairs)


def _loss(judge: Judge, batch: CaptionBatch, *, margin: float) -> Tensor:
    video_of = batch.video_of.to(judge.device)
    videos = judge.model.video(judge.source.batch(batch.video_ids, device=judge.device))
    similarities = videos[video_of] @ judge.model.text(batch.words.to(judge.device)).T  # (N, N)
    return hardest_negative_loss(similarities, video_of == video_of.unsqueeze(1), margin=margin)
