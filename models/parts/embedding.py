"""Videos and sentences in one space (VSE++, Faghri et al. 2018; text by a bidirectional GRU as in RUC's retrieval)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.base import Features, Modality
from models.parts.layers import as_regions, masked_mean, real_regions


class VideoTextEmbedding(nn.Module):
    """Unit vectors whose product says how well a sentence fits a video."""

    def __init__(
        self, *, vocabulary: int, sizes: dict[str, int], word_size: int = 300, size: int = 1024, dropout: float = 0.2
    ) -> None:
        super().__init__()
        self.names = sorted(sizes)
        self.drop = nn.Dropout(dropout)
        self.project = nn.Linear(sum(sizes.values()), size)
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.reader = nn.GRU(word_size, size, batch_first=True, bidirectional=True)

    def video(self, features: Features) -> Tensor:
        means = torch.cat([masked_mean(*_vectors(features[name])) for name in self.names], 1)
        return F.normalize(self.project(self.drop(means)), dim=1)  # (B, D)

    def text(self, words: Tensor) -> Tensor:
        """The mean over the words of (N, T) sentences, padded with zeros, of both directions."""
        mask = words != 0
        packed = pack_padded_sequence(
            self.drop(self.embed(words)), mask.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        read, _ = pad_packed_sequence(self.reader(packed)[0], batch_first=True, total_length=words.shape[1])
        return F.normalize(masked_mean(read.unflatten(2, (2, -1)).mean(2), mask), dim=1)  # (N, D)


def hardest_negative_loss(similarities: Tensor, same: Tensor, *, margin: float = 0.2) -> Tensor:
    """Hinge on the worst mistake of each row and each column of (N, N); the diagonal is right.

    `same` marks what is no mistake: the diagonal, and other captions of the same video.
    """
    right = similarities.diagonal()
    wrong = similarities.masked_fill(same, -torch.inf)
    by_video = (margin + wrong - right.unsqueeze(1)).amax(1).clamp(min=0)
    by_caption = (margin + wrong - right.unsqueeze(0)).amax(0).clamp(min=0)
    return by_video.sum() + by_caption.sum()


def _vectors(rows: Modality) -> Modality:
    """(B, L, ..., D) with the mean over what lies in a row: the regions that are there, or the places of a map."""
    if rows.values.dim() == 3:
        return rows
    regions = as_regions(rows)
    real = real_regions(regions)  # (B, L, N)
    means = masked_mean(regions.values.flatten(0, 1), real.flatten(0, 1))
    return Modality(means.unflatten(0, real.shape[:2]), rows.mask)
