"""One step ahead: a thread makes the next items while the last ones are in use."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, TypeVar

COMPANY_SECONDS = 0.001  # how long an item may wait for others to be handed over with
Item = TypeVar("Item")


@dataclass
class Handed(Generic[Item]):
    """What the thread hands over at once: waking another thread for each small item would cost as much as making it."""

    items: deque[Item] = field(default_factory=deque)
    is_last: bool = False
    error: BaseException | None = None


def prefetch(items: Generator[Item, None, None], *, together: int = 1, waiting: int = 1) -> Generator[Item, None, None]:
    """The same items in the same order, errors included; at most `waiting` times `together` of them are made early.

    `items` runs in the thread from beginning to end, and is closed there however this ends.
    """
    wanted, made = SimpleQueue[bool](), SimpleQueue[Handed[Item]]()
    thread = threading.Thread(target=_make, args=(items, wanted, made, together), name="prefetch")
    for _ in range(waiting):
        wanted.put(True)
    thread.start()
    try:
        yield from _taken(wanted, made)
    finally:
        wanted.put(False)
        thread.join()


def _taken(wanted: SimpleQueue[bool], made: SimpleQueue[Handed[Item]]) -> Generator[Item, None, None]:
    is_last = False
    while not is_last:
        handed = made.get()
        is_last = handed.is_last
        wanted.put(not is_last)
        while handed.items:
            yield handed.items.popleft()  # nothing here keeps it
        if handed.error is not None:
            raise handed.error


def _make(
    items: Generator[Item, None, None], wanted: SimpleQueue[bool], made: SimpleQueue[Handed[Item]], together: int
) -> None:
    with closing(items):
        is_last = False
        while not is_last and wanted.get():
            handed = _next(items, together)
            is_last = handed.is_last
            made.put(handed)
            del handed


def _next(items: Generator[Item, None, None], together: int) -> Handed[Item]:
    handed, began = Handed[Item](), time.monotonic()
    try:
        for item in items:
            handed.items.append(item)
            if len(handed.items) == together or time.monotonic() - began > COMPANY_SECONDS:
                return handed
    except BaseException as error:  # noqa: BLE001 - it is for whoever takes the items
        handed.error = error
    handed.is_last = True
    return handed
