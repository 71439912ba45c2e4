"""What runs on a worker: the items of a task, one after another, each within a time limit of its own.

Nothing but these objects travels: functions and classes of installed packages by name, ids and paths.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.core import DiskFullError, InputError, UsageError, overlaps
from workflows.cluster.places import PlaceRule, TaskPlaces

# Those that travel. No others: they may hold secrets.
VARIABLES = (
    "FRAMESCRIBE_CACHE",
    "FRAMESCRIBE_CACHE_URL",
    "FRAMESCRIBE_SPOOL_GB",
    "FRAMESCRIBE_JAVA",
    "FRAMESCRIBE_SPICE",
)


@dataclass(frozen=True)
class WorkerEnvironment:
    """Working folder and variables: relative paths mean the same on every worker as here."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def enter(self) -> None:
        os.environ.update(self.variables)
        if Path.cwd() == self.folder:
            return
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise InputError(
                f"worker {socket.gethostname()} has no folder {self.folder}: {error.strerror}",
                hint="`folder` in the profile is this project's folder as workers see it; framescribe cluster check",
            ) from error


@dataclass(frozen=True)
class WorkerTask:
    """What a task of dask is given."""

    work: Callable[[Any], Any]
    items: tuple[Any, ...]
    environment: WorkerEnvironment
    time_limit: float | None = None  # seconds of one item
    places: PlaceRule = field(default_factory=PlaceRule)
    alone: bool = False  # a worker was lost with it

    def most(self) -> int:
        """Tasks beside which it may run, itself among them."""
        return self.places.count() if overlaps(self.work) and not self.alone else 1


@dataclass(frozen=True)
class TaskReport:
    """What a worker made of a task: the results of its items, or of the first of them when its disk is full."""

    worker: str
    address: str
    results: list[Any] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    full: DiskFullError | None = None
    busy: bool = False  # it was to be alone, and was not


_places = TaskPlaces()


def perform(task: WorkerTask) -> TaskReport:
    """Model, index and decoding children stay in this process from one task to the next."""
    from distributed import get_worker

    task.environment.enter()
    worker = get_worker()
    report = TaskReport(str(worker.name), worker.address)
    with _places.taken(alone=task.alone) as free:
        return _performed(task, report) if free else replace(report, busy=True)


def _performed(task: WorkerTask, report: TaskReport) -> TaskReport:
    most, beside = task.most(), False
    # items in flight share the device and the cores, so each takes longer
    limit = None if task.time_limit is None else task.time_limit * most
    for item in task.items:
        beside = beside or _goes_beside(most)
        started = time.time()
        try:
            with time_limit(limit):
                report.results.append(task.work(item))
        except DiskFullError as error:
            return replace(report, full=error)
        took = {"time": started, "seconds": round(time.time() - started, 3)}
        report.events.append({**took, "event": "done", "item": name_of(item), "process": os.getpid()})
    return report


def _goes_beside(most: int) -> bool:
    """Leave the worker's thread to another task, if there is a place for one."""
    from distributed import secede

    if free := _places.left(most):
        secede()
    return free


def name_of(item: Any) -> str:
    """A row has an id; a pair begins with one."""
    return str(getattr(item, "id", item[0] if isinstance(item, tuple) else item))


def require_own(work: Callable[[Any], Any]) -> None:
    """Work travels by name, so that a worker runs the code that is installed there and no other."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{work!r} cannot run on a cluster: it must be a function of a module, or an object"
        ) from error
    kind = work if hasattr(work, "__qualname__") else type(work)
    if kind.__module__ == "__main__":
        raise UsageError(f"{work!r} cannot run on a cluster: the module __main__ is another one there")


_deadlines: dict[int, float] = {}
_lock = threading.Lock()


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """The kernel ends this process when the block takes longer, whatever native code it hangs in.

    A worker's nanny then starts another. One timer serves all threads: it rings at the earliest of their deadlines.
    """
    if seconds is None:
        yield
        return
    thread = threading.get_ident()
    _change_deadline(thread, time.monotonic() + seconds)
    try:
        yield
    finally:
        _change_deadline(thread, None)


def _change_deadline(thread: int, deadline: float | None) -> None:
    with _lock:
        if deadline is None:
            del _deadlines[thread]
        else:
            _deadlines[thread] = deadline
        remaining = max(min(_deadlines.values()) - time.monotonic(), 0.001) if _deadlines else 0.0
        signal.setitimer(signal.ITIMER_REAL, remaining)
