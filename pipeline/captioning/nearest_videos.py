"""The training videos whose features are most like a video's: their captions are what people said of such videos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pipeline.captioner import BATCH, FeatureSource
from pipeline.core import UsageError


@dataclass(frozen=True)
class NearestVideos:
    """By the cosine of mean feature vectors; a video is no neighbour of itself."""

    training: FeatureSource
    own: FeatureSource  # of the videos that are asked about: the same, or that of one's own videos
    slot: str
    captions: Mapping[str, Sequence[str]]  # of training videos
    count: int

    def __call__(self, videos: Sequence[str]) -> dict[str, list[str]]:
        """Of every video the captions of its neighbours."""
        return {
            video: [caption for neighbour in near for caption in self.captions[neighbour]]
            for video, near in zip(videos, self.neighbours(videos), strict=True)
        }

    def neighbours(self, videos: Sequence[str]) -> list[list[str]]:
        """The nearest first."""
        likeness = self._vectors(self.own, videos) @ self._trained.T  # (N, M)
        own = torch.tensor([[one == other for other in self._known] for one in videos])
        likeness = likeness.masked_fill(own, -torch.inf)
        ranks = likeness.argsort(dim=1, descending=True, stable=True)[:, : self.count].tolist()
        return [
            [self._known[row] for row in rows if self._known[row] != video]
            for video, rows in zip(videos, ranks, strict=True)
        ]

    @cached_property
    def _known(self) -> list[str]:
        store = self.training.stores[self.slot]
        return [video for video in self.captions if video in store]

    @cached_property
    def _trained(self) -> Tensor:
        return self._vectors(self.training, self._known)

    def _vectors(self, source: FeatureSource, videos: Sequence[str]) -> Tensor:
        return torch.cat(list(self._batches(source, videos)))  # (N, C)

    def _batches(self, source: FeatureSource, videos: Sequence[str]) -> Iterator[Tensor]:
        name = input_of(source, self.slot)
        for start in range(0, max(1, len(videos)), BATCH):
            values, mask = source.batch(videos[start : start + BATCH])[name]
            rows = values.flatten(2, -2).mean(2) if values.ndim > 3 else values  # (B, L, C)
            yield torch.nn.functional.normalize((rows * mask.unsqueeze(-1)).sum(1), dim=1)


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
