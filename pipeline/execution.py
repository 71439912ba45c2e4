"""The executor contract, `map(work, items)`: a stage cannot tell which executor runs it.

`work` is a function of this package, or an object of one of its classes; only it and the items travel.
Results arrive as they are done, in any order, so each carries its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]: ...


class InProcess:
    """One item after another, here."""

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        return map(work, items)


@dataclass(frozen=True)
class LocalProcesses:
    """Processes of this machine, started clean (`spawn`): forking after torch has threads deadlocks."""

    workers: int

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        with ProcessPoolExecutor(min(self.workers, len(items)) or 1, mp_context=get_context("spawn")) as pool:
            pending = [pool.submit(work, item) for item in items]
            try:
                for done in as_completed(pending):
                    yield done.result()
            finally:
                pool.shutdown(cancel_futures=True)
