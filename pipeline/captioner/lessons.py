"""What a model is given to compute its loss: features, state, and the captions to be read from any state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from models.base import Captioner, Features, Forced, Lesson, State, select
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.teacher_forcing import forced, teacher_forced


def make_lesson(
    model: Captioner,
    features: Features,
    batch: CaptionBatch,
    *,
    tables: dict[str, Tensor],
    pairs: int,
    own_words: float = 0.0,
    smoothing: float = 0.0,
) -> Lesson:
    """Encodes the batch's videos; every caption comes `model.copies` times."""
    state = model.encode(features)
    device = next(iter(state.values())).device
    video_of, targets, captions = (
        part.to(device).repeat_interleave(model.copies, dim=0) for part in (batch.video_of, batch.words, batch.pairs)
    )

    def score(videos: State) -> Forced:
        reading = teacher_forced(model, select(videos, video_of), targets, own_words=own_words)
        return forced(reading, len(targets), smoothing=smoothing)

    def quietly(videos: State) -> Forced:
        with torch.no_grad(), _without_dropout(model):
            return forced(teacher_forced(model, select(videos, video_of), targets), len(targets))

    return Lesson(features, state, score, quietly, video_of, captions, tables, pairs)


@contextmanager
def _without_dropout(model: Captioner) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
