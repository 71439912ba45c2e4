"""The executor contract, `map(work, items)`: a stage cannot tell which executor runs it.

`work` is a function of this package, or an object of one of its classes; only it and the items travel.
Results arrive as they are done, in any order, so each carries its own name. Work that can answer for an item which
takes every worker down that tries it has a method `give_up(item, why)`; without one, such an item ends the run.
Work whose `takes_hours` is true has no time limit and is never tried at two places at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import Protocol, TypeVar

from pipeline.core.errors import WorkerDiedError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    @property
    def workers(self) -> int:
        """The most there will be; 0 when that is not known."""
        ...

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]: ...


UNKNOWN = 8  # workers to plan for where their number is not known


def shares(executor: Executor, worth: int) -> int:
    """Into how many parts to cut work: one per worker at most, and no more than `worth`, or starting costs too much."""
    return max(1, min(executor.workers or UNKNOWN, worth))


class InProcess:
    """One item after another, here."""

    workers = 1

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        return map(work, items)


HERE = InProcess()


@dataclass(frozen=True)
class Threads:
    """Threads of this process, for work that waits for children of its own, which `stop` ends; results in order."""

    workers: int
    stop: Callable[[], None]

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield from pool.map(work, items)
            except BaseException:  # Ctrl-C too: what is under way is not worth waiting for
                pool.shutdown(wait=False, cancel_futures=True)
                self.stop()
                raise


@dataclass(frozen=True)
class LocalProcesses:
    """Processes of this machine, started clean (`spawn`): forking after torch has threads deadlocks."""

    workers: int

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        workers = min(self.workers, len(items)) or 1
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
            pending = [pool.submit(work, item) for item in items]
            try:
                for done in as_completed(pending):
                    yield done.result()
            except BrokenProcessPool as error:
                raise WorkerDiedError(
                    "a worker process was killed, perhaps for want of memory; what was finished is kept",
                    hint="run the same command: it goes on. With a profile of fewer workers it needs less memory",
                ) from error
            finally:
                pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
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
