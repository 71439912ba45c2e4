"""Which words people would use of a video: a ridge regression from its mean features, learnt from the training videos.

Features are near where pictures look alike; words are near where people say the same. A regression to all words at once
learns from a few hundred videos which differences between features matter for what is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

RIDGE = 0.1  # beside features of length 1; from 0.03 to 0.3 it mattered little on clips that were held out


@dataclass(frozen=True)
class ExpectedWords:
    """Of M training videos; all vectors of words have length 1, so that a product is a cosine."""

    centre: Tensor  # (C,) what features have in common
    weights: Tensor  # (C, V)
    words: Tensor  # (M, V) of the captions of each training video
    left_out: Tensor  # (M, V) what the other training videos let expect of each

    @classmethod
    def learnt(cls, means: Tensor, words: Tensor) -> ExpectedWords:
        """From mean features (M, C) and word vectors (M, V)."""
        means, words = means.double(), words.double()
        centre = means.mean(0)
        rows = normalize(means - centre, dim=1)
        inverse = ridge_inverse(rows)  # (C, M)
        weights = inverse @ words
        leverage = (rows * inverse.T).sum(1, keepdim=True)  # how much each decides of its own expectation
        left_out = words - (words - rows @ weights) / (1 - leverage)
        return cls(centre, weights, words, normalize(left_out, dim=1))

    def of(self, means: Tensor) -> Tensor:
        """(N, C) mean features of videos that were not learnt from: (N, V)."""
        return normalize(normalize(means.double() - self.centre, dim=1) @ self.weights, dim=1)


def ridge_inverse(rows: Tensor) -> Tensor:
    """(M, C) -> (C, M), by whichever of its two equal forms has the smaller system."""
    videos, channels = rows.shape
    if videos <= channels:
        return torch.linalg.solve(_with_ridge(rows @ rows.T), rows).T
    return torch.linalg.solve(_with_ridge(rows.T @ rows), rows.T)


def _with_ridge(products: Tensor) -> Tensor:
    return products + RIDGE * torch.eye(len(products), dtype=products.dtype)


def word_vectors(captions: Sequence[Sequence[str]]) -> Tensor:
    """(M, V) of each video's captions: in how many of them a word is, times how rare it is among the videos.

    A word that only one video has says nothing about another one.
    """
    shares = [_shares(texts) for texts in captions]
    videos = Counter(word for share in shares for word in share)
    places = {word: place for place, word in enumerate(word for word, count in videos.items() if count > 1)}
    vectors = torch.zeros(len(shares), len(places), dtype=torch.float64)
    for row, share in zip(vectors, shares, strict=True):
        known = [word for word in share if word in places]
        row[[places[word] for word in known]] = torch.tensor([share[word] for word in known], dtype=row.dtype)
    rarity = torch.tensor([len(shares) / videos[word] for word in places], dtype=torch.float64).log()
    return normalize(vectors * rarity, dim=1)


def _shares(texts: Sequence[str]) -> dict[str, float]:
    counts = Counter(word for text in texts for word in set(text.split()))
    return {word: count / len(texts) for word, count in sorted(counts.items())}
