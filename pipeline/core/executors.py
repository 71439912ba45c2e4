"""The executor contract, `map(work, items)`: a stage cannot tell which executor runs it.

`work` is a function of this package, or an object of one of its classes; only it and the items travel.
Results arrive as they are done, in any order, so each carries its own name. Work that can answer for an item which
takes every worker down that tries it has a method `give_up(item, why)`; without one, such an item ends the run.
Work whose `takes_hours` is true has no time limit and is never tried at two places at once.
Work whose `overlaps` is true mostly waits: where a worker has cores to spare, several of its items are in flight there,
and its method `interrupt` ends what they wait for.
Work that does more than its items need has a method `cautious`: what of it to do for an item that took a worker down.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import parent_process
from typing import Any, Protocol, TypeVar

from pipeline.core.errors import WorkerDiedError
from pipeline.core.overlap import overlapped, overlaps
from pipeline.core.worker_ends import WatchedProcesses

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    @property
    def workers(self) -> int:
        """The most there will be; 0 when that is not known."""
        ...

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]: ...


PIECE = 8  # times as many items as are in flight go to a process together
UNKNOWN = 8  # workers to plan for where their number is not known


def shares(executor: Executor, worth: int) -> int:
    """Into how many parts to cut work: one per worker at most, and no more than `worth`, or starting costs too much."""
    return max(1, min(executor.workers or UNKNOWN, worth))


@dataclass(frozen=True)
class InProcess:
    """Here, one item after another; of work that overlaps, `in_flight` at a time."""

    in_flight: int = 1
    workers = 1

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        if self.in_flight > 1 and overlaps(work):
            return overlapped(work, items, count=self.in_flight, interrupt=work.interrupt)  # type: ignore[attr-defined]
        return map(work, items)


HERE = InProcess()


@dataclass(frozen=True)
class Threads:
    """Threads of this process, for work that waits for children of its own, which `stop` ends."""

    workers: int
    stop: Callable[[], None]

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        return overlapped(work, items, count=self.workers, interrupt=self.stop)


@dataclass(frozen=True)
class LocalProcesses:
    """Processes of this machine."""

    workers: int
    in_flight: int = 1  # items of work that overlaps, in each of them

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        if self.in_flight == 1 or not overlaps(work):
            yield from self._map(work, items)
            return
        size = min(PIECE * self.in_flight, -(-len(items) // self.workers)) or 1
        pieces = [items[first : first + size] for first in range(0, len(items), size)]
        for results in self._map(Together(work, self.in_flight), pieces):
            yield from results

    def _map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        workers = min(self.workers, len(items)) or 1
        processes = WatchedProcesses()
        with ProcessPoolExecutor(workers, mp_context=processes, initializer=end_with_parent) as pool:
            pending = [pool.submit(work, item) for item in items]
            try:
                for done in as_completed(pending):
                    yield done.result()
            except BrokenProcessPool as error:
                pool.shutdown()  # its thread alone may ask how they ended: a second waitpid finds no child
                why, hint = processes.told()
                raise WorkerDiedError(f"{why}; what was finished is kept", hint=hint) from error
            finally:
                pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Together:
    """Work on a piece of the items, for a process that has several of them in flight."""

    work: Callable[[Any], Any]
    in_flight: int

    def __call__(self, items: Sequence[Any]) -> list[Any]:
        return list(InProcess(self.in_flight).map(self.work, items))


def end_with_parent() -> None:
    """Without this watch a worker would wait for work for ever when its parent is killed."""
    parent = parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))
