"""Frames that a thread of its own decodes while the last ones are converted and copied: where cores are to spare, dense
reads then take the time of decoding alone."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from pipeline.decoding.ahead import prefetch

TOGETHER = 8  # of small frames that are handed over at once: waking the other thread for fewer costs more than it gains
WAITING = 2  # hand-overs, so that neither thread waits for the other to wake
Frame = TypeVar("Frame")


def decoded_early(frames: Generator[Frame, None, None]) -> Generator[Frame, None, None]:
    return prefetch(frames, together=TOGETHER, waiting=WAITING)
