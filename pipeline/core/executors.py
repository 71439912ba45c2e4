"""The executor contract, `map(work, items)`: a stage cannot tell which executor runs it.

`work` is a function of this package, or an object of one of its classes; only it and the items travel.
Results arrive as they are done, in any order, so each carries its own name. Work that can answer for an item which
takes every worker down that tries it has a method `give_up(item, why)`; without one, such an item ends the run.
Work that is true to `takes_hours` has no time limit and is never tried at two places at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pipeline.core.errors import WorkerDiedError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    @property
    def workers(self) -> int:
        """The most there will be; 0 when nobody can say."""
        ...

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]: ...


UNKNOWN = 8  # workers that are counted on where nobody can say how many there will be


def shares(executor: Executor, worth: int) -> int:
    """Into how many parts to cut work: no more than workers, and than are `worth` what it takes to begin one."""
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
        from concurrent.futures import ThreadPoolExecutor

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
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

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
    """A worker waits for work for ever when its parent is killed, unless it looks."""
    import os
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        Thread(target=watch, daemon=True).start()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))
