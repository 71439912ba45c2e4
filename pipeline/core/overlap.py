"""Several items of one piece of work in flight in this process, so that the end of one is the middle of another.

Work that `overlaps` mostly waits: for children that decode, for a disk, for its turn at a device. Threads are enough.
Its `interrupt` ends what it waits for, so that a run that is over does not wait either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_IN_FLIGHT = 16  # of a worker: each holds a decoder and some batches
AGAIN = 0.1  # seconds after which work that goes on though it was interrupted is interrupted again


def in_flight(cores: int) -> int:
    """Items at a time for a worker of so many cores: those that decode, one at the device and one at the disk."""
    return min(cores + 2, MOST_IN_FLIGHT) if cores > 1 else 1


def overlaps(work: Callable[..., Any]) -> bool:
    return getattr(work, "overlaps", False)


def overlapped(
    work: Callable[[Item], Result], items: Iterable[Item], *, count: int, interrupt: Callable[[], None]
) -> Iterator[Result]:
    """Results as they come, at most `count` items under way; one that takes long keeps no other from its place.

    Items are taken as they are needed. An error of one ends all.
    """
    todo, going = iter(items), set[Future[Result]]()
    with ThreadPoolExecutor(count, thread_name_prefix="in_flight") as pool:
        try:
            # as many again wait, so that no thread does while the caller looks at a result
            while going := going | {pool.submit(work, item) for item in islice(todo, 2 * count - len(going))}:
                done, going = wait(going, return_when=FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        finally:
            _end(going, interrupt)


def _end(going: set[Future[Any]], interrupt: Callable[[], None]) -> None:
    """Again and again: what is ended may be tried once more before it is given up."""
    going = {each for each in going if not each.cancel()}
    while going:
        interrupt()
        going = wait(going, timeout=AGAIN).not_done
