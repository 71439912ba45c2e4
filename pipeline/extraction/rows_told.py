"""How many rows of a video each extractor has made, for whoever watches one clip in this process.

Stages have a step for each video and listen to nothing here; features know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]  # extractor, its rows so far, its rows of the video: 0 until it is built
_listeners: list[Listener] = []


@contextmanager
def rows_told(listener: Listener) -> Iterator[None]:
    """It hears of all videos that this process extracts meanwhile, in whichever thread."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell_rows(extractor: str, made: int, total: int) -> None:
    for listener in _listeners:
        listener(extractor, made, total)
