"""Sentences for videos: the features of a few videos at a time through beam search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from models.base import Captioner
from pipeline.captioner.batches import Source
from pipeline.captioner.search import beam_search
from pipeline.core import SILENT, Progress
from pipeline.data import Vocabulary

BATCH = 64  # videos a search; padding is masked, so this changes speed and not sentences


@dataclass(frozen=True)
class Said:
    caption: str
    log_prob: float
    words: list[str]
    attention: dict[str, np.ndarray]  # "time" -> (words, rows of that video); others -> (words, what the model says)


def caption_videos(
    model: Captioner,
    source: Source,
    video_ids: Sequence[str],
    *,
    vocabulary: Vocabulary,
    beam: int,
    max_words: int,
    length_power: float = 0.0,
    device: str = "cpu",
    progress: Progress = SILENT,
) -> dict[str, Said]:
    model.eval()
    said: dict[str, Said] = {}
    for start in range(0, len(video_ids), BATCH):
        chosen = video_ids[start : start + BATCH]
        features = source.batch(chosen, device=device)
        lengths = next(iter(features.values())).mask.sum(1).tolist()
        sentences = beam_search(model, features, width=beam, max_words=max_words, length_power=length_power)
        for video_id, sentence, rows in zip(chosen, sentences, lengths, strict=True):
            words = [vocabulary.words[number] for number in sentence.words]
            attention = {name: _recorded(name, each, rows) for name, each in sentence.attention.items()}
            said[video_id] = Said(" ".join(words), sentence.log_prob, words, attention)
        progress.advance(len(chosen))
    return said


def _recorded(name: str, weights: Tensor, rows: int) -> np.ndarray:
    """Without what only longer neighbours in the batch have: there the weights (words, ...) are zero."""
    if name in ("layer", "view", "frame"):
        return weights.float().numpy()
    if name not in ("time", "refocus"):
        looked = weights.ne(0).any(0)  # (P,), or (K, N)
        rows = int(looked.view(len(looked), -1).any(1).nonzero().max()) + 1 if looked.any() else 0
    return weights[:, :rows].float().numpy()
