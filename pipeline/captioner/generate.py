"""Captions for videos: the features of a few videos at a time through a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from models.base import Captioner
from pipeline.captioner.batches import FeatureBatches
from pipeline.captioner.search import CaptionSearch, Hypothesis, search_readings
from pipeline.core import SILENT, Progress
from pipeline.corpus import Vocabulary

BATCH = 64  # videos per search; padding is masked, so this changes speed and not captions


@dataclass(frozen=True)
class GeneratedCaption:
    caption: str
    log_prob: float
    words: list[str]
    attention: dict[str, np.ndarray]  # "time" -> (words, rows of that video); others -> (words, ...)
    first_reading: str | None = None  # the caption after the first reading, if it was asked for and there is one


def caption_videos(
    model: Captioner,
    source: FeatureBatches,
    video_ids: Sequence[str],
    *,
    vocabulary: Vocabulary,
    search: CaptionSearch,
    first_reading: bool = False,
    device: str = "cpu",
    progress: Progress = SILENT,
) -> dict[str, GeneratedCaption]:
    model.eval()
    generated: dict[str, GeneratedCaption] = {}
    for start in range(0, len(video_ids), BATCH):
        chosen = video_ids[start : start + BATCH]
        features = source.batch(chosen, device=device)
        lengths = next(iter(features.values())).mask.sum(1).tolist()
        found = search_readings(model, features, search, videos=chosen, first_reading=first_reading)
        for video_id, (best, first), rows in zip(chosen, found, lengths, strict=True):
            words = _words(best, vocabulary)
            attention = {name: _recorded(name, each, rows) for name, each in best.attention.items()}
            before = None if first is None else " ".join(_words(first, vocabulary))
            generated[video_id] = GeneratedCaption(" ".join(words), best.log_prob, words, attention, before)
        progress.advance(len(chosen))
    return generated


def _words(hypothesis: Hypothesis, vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.words[number] for number in hypothesis.words]


def _recorded(name: str, weights: Tensor, rows: int) -> np.ndarray:
    """Without what only longer neighbours in the batch have: there the weights (words, ...) are zero."""
    if name in ("layer", "view", "slot", "frame"):
        return weights.float().numpy()
    if name not in ("time", "refocus"):
        seen = weights.ne(0).any(0)  # (P,), or (K, N)
        rows = int(seen.view(len(seen), -1).any(1).nonzero().max()) + 1 if seen.any() else 0
    return weights[:, :rows].float().numpy()
