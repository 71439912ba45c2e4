"""Signals that end the server: each as Ctrl-C does, and none of them while it cleans up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heed_signals() -> None:
    """A terminal that closes ends the server as `kill` does, unless it was started to outlive it (nohup)."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))  # which uvicorn knows


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A second Ctrl-C would end the cleaning half way, and leave files."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
