"""Reranking by a video-text embedding that is trained on the same captions as the runs.

It has a training loop of its own: a ranking loss over whole batches, without words to predict, and so short that it
is not resumable. `pipeline.training` trains captioners.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.base import Features
from models.parts.embedding import VideoTextEmbedding, hardest_negative_loss
from pipeline.captioner import CaptionBatch, FeatureBatches, TrainingPairs, training_pairs
from pipeline.core import SILENT, Progress
from pipeline.corpus import LATIN, PAD, Corpus, Vocabulary, Words, tokenize

VIDEOS = 64  # read at a time
SENTENCES = 256  # the same: each has 2,048 numbers for every word of the longest


@dataclass(frozen=True)
class RerankerSettings:
    """VSE++'s published ones, and when to stop."""

    epochs: int = 30
    patience: int = 5  # epochs without a better mean reciprocal rank in validation
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
class Reranker:
    """Scores how well captions fit a video."""

    model: VideoTextEmbedding
    source: FeatureBatches
    vocabulary: Vocabulary
    device: str = "cpu"
    words: Words = LATIN

    def similarities(self, video_id: str, candidates: Sequence[str]) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            video = self.model.video(self.source.batch([video_id], device=self.device))
            return self._texts(candidates) @ video[0]

    def mean_reciprocal_rank(self, references: Mapping[str, Sequence[str]]) -> float:
        """Mean over videos of 1 / rank of their own best caption among the captions of all; 1 is perfect."""
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
        rows = [torch.tensor(self.vocabulary.encode(tokenize(sentence, self.words))) for sentence in sentences]
        return pad_sequence(rows, batch_first=True, padding_value=PAD).to(self.device)


def train_reranker(
    corpus: Corpus,
    vocabulary: Vocabulary,
    source: FeatureBatches,
    *,
    settings: RerankerSettings,
    max_words: int,
    device: str = "cpu",
    progress: Progress = SILENT,
) -> tuple[Reranker, float]:
    """The reranker of the best epoch and its mean reciprocal rank in validation."""
    torch.manual_seed(settings.seed)
    pairs = training_pairs(corpus, vocabulary, max_words=max_words)
    features = source.batch(pairs.video_ids[:1], device=device)
    sizes = {name: part.values.shape[-1] for name, part in features.items()}
    model = VideoTextEmbedding(
        vocabulary=len(vocabulary), sizes=sizes, word_size=settings.word_size, size=settings.size
    ).to(device)
    reranker = Reranker(model, source, vocabulary, device, corpus.words)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    best, best_epoch, kept = -1.0, 0, model.state_dict()
    for epoch in range(1, settings.epochs + 1):
        optimizer.param_groups[0]["lr"] = settings.rate_at(epoch)
        loss = _epoch(reranker, pairs, optimizer, settings, seed=settings.seed * 1_000_003 + epoch)
        rank = reranker.mean_reciprocal_rank(corpus.references("val"))
        progress.advance(note=f"loss {loss:.3f}  mean reciprocal rank {rank:.3f}")
        if rank > best:
            best, best_epoch, kept = rank, epoch, copy.deepcopy(model.state_dict())
        if epoch - best_epoch >= settings.patience:
            break
    model.load_state_dict(kept)
    return reranker, best


def _epoch(
    reranker: Reranker, pairs: TrainingPairs, optimizer: torch.optim.Optimizer, settings: RerankerSettings, *, seed: int
) -> float:
    reranker.model.train()
    total = 0.0
    for batch in pairs.batches(settings.batch_size, seed=seed):
        loss = _loss(reranker, batch, margin=settings.margin)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reranker.model.parameters(), settings.clip)
        optimizer.step()
        total += float(loss.detach())
    return total / len(pairs)


def _loss(reranker: Reranker, batch: CaptionBatch, *, margin: float) -> Tensor:
    video_of = batch.video_of.to(reranker.device)
    videos = reranker.model.video(reranker.source.batch(batch.video_ids, device=reranker.device))
    similarities = videos[video_of] @ reranker.model.text(batch.words.to(reranker.device)).T  # (N, N)
    return hardest_negative_loss(similarities, video_of == video_of.unsqueeze(1), margin=margin)
