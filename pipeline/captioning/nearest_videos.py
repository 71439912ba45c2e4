"""The training videos that are most like a video: their captions are what people said of such videos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import normalize

from pipeline.captioner import BATCH, FeatureSource
from pipeline.captioning.expected_words import ExpectedWords, word_vectors
from pipeline.core import UsageError


@dataclass(frozen=True)
class NearestVideos:
    """By the cosine of mean feature vectors, or of the words expected from them; a video is no neighbour of itself."""

    training: FeatureSource
    own: FeatureSource  # of the videos that are asked about: the same, or that of one's own videos
    slot: str
    captions: Mapping[str, Sequence[str]]  # of training videos
    count: int
    by_words: bool = False

    def __post_init__(self) -> None:
        input_of(self.training, self.slot)

    def __call__(self, videos: Sequence[str]) -> dict[str, list[Sequence[str]]]:
        """Of every video the captions of each of its neighbours."""
        return {
            video: [self.captions[neighbour] for neighbour in near]
            for video, near in zip(videos, self.neighbours(videos), strict=True)
        }

    def neighbours(self, videos: Sequence[str]) -> list[list[str]]:
        """The nearest first; none where the store has no training video."""
        if not self._known:
            return [[] for _ in videos]
        likeness = self._likeness(videos)  # (N, M)
        own = torch.tensor([[one == other for other in self._known] for one in videos])
        ranks = likeness.masked_fill(own, -torch.inf).argsort(dim=1, descending=True, stable=True)  # (N, M)
        return [
            [self._known[row] for row in rows if self._known[row] != video]
            for video, rows in zip(videos, ranks[:, : self.count].tolist(), strict=True)
        ]

    def _likeness(self, videos: Sequence[str]) -> Tensor:
        means = self._means(self.own, videos)
        if not self.by_words:
            return normalize(means, dim=1) @ normalize(self._trained, dim=1).T
        expected = self._expected.of(means)
        for row, video in enumerate(videos):
            if video in self._places:  # its own captions have no part in what is expected of it
                expected[row] = self._expected.left_out[self._places[video]]
        return expected @ self._expected.words.T

    @cached_property
    def _known(self) -> list[str]:
        store = self.training.stores[self.slot]
        return [video for video in self.captions if video in store]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {video: place for place, video in enumerate(self._known)}

    @cached_property
    def _trained(self) -> Tensor:
        return self._means(self.training, self._known)

    @cached_property
    def _expected(self) -> ExpectedWords:
        return ExpectedWords.learnt(self._trained, word_vectors([self.captions[video] for video in self._known]))

    def _means(self, source: FeatureSource, videos: Sequence[str]) -> Tensor:
        return torch.cat(list(self._batches(source, videos)))  # (N, C)

    def _batches(self, source: FeatureSource, videos: Sequence[str]) -> Iterator[Tensor]:
        name = input_of(source, self.slot)
        for start in range(0, len(videos), BATCH):
            values, mask = source.batch(videos[start : start + BATCH])[name]
            rows = values.flatten(2, -2).mean(2) if values.ndim > 3 else values  # (B, L, C)
            yield (rows * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def input_of(source: FeatureSource, slot: str) -> str:
    """The name under which a run reads the store in a slot."""
    for name, wanted in source.inputs.items():
        if wanted.slot == slot:
            return name
    given = ", ".join(sorted({wanted.slot for wanted in source.inputs.values()}))
    raise UsageError(
        f"caption.neighbours_by is '{slot}', which the run does not read; it reads: {given}",
        hint=f"set caption.neighbours_by to one of: {given}",
    )
