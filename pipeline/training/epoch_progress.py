"""Progress within an epoch, which takes minutes on a large data set: how far, how fast, how long still."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from pipeline.captioner import CaptionBatch
from pipeline.core import Progress, clock

INTERVAL = 1.0  # seconds between notes; the console prints fewer of them where it is no terminal


def told_within(
    batches: Iterable[CaptionBatch], progress: Progress, *, epoch: int, done: int, steps: int
) -> Iterator[CaptionBatch]:
    """The batches as they come; `done` of the epoch's `steps` were trained before."""
    began = last = time.monotonic()
    first, captions = done, 0
    for batch in batches:
        yield batch
        done, captions, now = done + 1, captions + len(batch.words), time.monotonic()
        if now - last >= INTERVAL:
            last, spent = now, now - began
            left = clock((steps - done) * spent / (done - first))
            progress.advance(0, note=f"epoch {epoch}: {done}/{steps}, {captions / spent:.0f} captions/s, {left} left")
