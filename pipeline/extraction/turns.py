"""Turns at a device: of the batches that wait, those of the video that began first are next, in their order.

Served as they come, videos that began together would end together, and the device would wait while the next ones begin.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, TypeVar

Started = TypeVar("Started")


@dataclass(order=True)
class QueuedPass:
    place: tuple[int, int]  # of its video, and of all turns in the order in which they came
    start: Callable[[], Any] = field(compare=False)
    started: Future[Any] = field(compare=False, default_factory=Future)

    def take(self) -> None:
        if not self.started.set_running_or_notify_cancel():
            return
        try:
            self.started.set_result(self.start())
        except BaseException as error:  # noqa: BLE001 - it is for whoever waits
            self.started.set_exception(error)


class Turns:
    """One thread starts all, and takes the next one at once: to wake another for each would leave the device idle."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="device")
        self._lock = threading.Lock()
        self._count = itertools.count()
        self._waiting = list[QueuedPass]()  # a heap

    def add(self, start: Callable[[], Started], *, place: int) -> Future[Started]:
        turn = QueuedPass((place, next(self._count)), start)
        with self._lock:
            heappush(self._waiting, turn)
        self._thread.submit(self._take_first)  # which may be another one by then
        return turn.started

    def drop(self) -> None:
        """Whoever waits gets a CancelledError; what is being started goes on."""
        with self._lock:
            waiting = list(self._waiting)
        for turn in waiting:
            turn.started.cancel()

    def _take_first(self) -> None:
        with self._lock:
            turn = heappop(self._waiting)
        turn.take()
