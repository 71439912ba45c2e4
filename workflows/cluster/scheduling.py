"""A window of tasks in flight, and what to do with each that does not come back.

A task whose worker was lost is cut into single videos, each tried again behind all others and alone on a worker; a
video that takes down as many workers as `attempts` allows is given up, and the others go on. When nothing is left to
start, a task that takes much longer than others did is started a second time elsewhere; the first answer counts.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from pipeline.core import ClusterError, WorkerDiedError, overlaps
from workflows.cluster.journal import Journal
from workflows.cluster.places import place_rule
from workflows.cluster.worker import TaskReport, WorkerEnvironment, WorkerTask, name_of, perform
from workflows.profiles import Cluster

TICK = 1.0  # seconds between looks at what does not report by itself
LOOK = 5.0  # seconds between counts of the workers
ANSWER = 30.0  # seconds for a finished task's answer to arrive; then its worker is as good as lost
SLOW = 3.0  # times the usual turn-around, beyond which a task is started elsewhere too
CHECK = "framescribe cluster check --profile with this profile; what was finished is kept"
LOST = "it took its worker down, or needed more than time_limit, {} times"


class SchedulerLostError(Exception):
    """The connection ended; every task in flight is to be sent again."""


@dataclass(frozen=True)
class Share:
    """The items of one task; the number names it, also when it is in flight twice."""

    number: int
    items: tuple[Any, ...]
    tries: int = 0
    avoid: frozenset[str] = frozenset()  # addresses of workers that cannot do it


@dataclass(frozen=True)
class Flight:
    share: Share
    future: Any
    started: float = field(default_factory=time.monotonic)


class Dispatcher:
    """Sends the items to the workers and yields a result for each, whatever is lost on the way."""

    def __init__(
        self,
        work: Callable[[Any], Any],
        items: Sequence[Any],
        *,
        environment: WorkerEnvironment,
        profile: Cluster,
        journal: Journal,
        workers: int,
        tell: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._tell = tell
        self._work = work
        self._takes_hours = getattr(work, "takes_hours", False)
        self._overlaps = overlaps(work)
        self._rule = place_rule(profile)
        self._environment = environment
        self._profile = profile
        self._workers = self._expected = max(workers, 1)
        self._addresses: list[str] = []
        self._landed: SimpleQueue[str] = SimpleQueue()
        self._flights: dict[str, Flight] = {}
        self._turnarounds: list[float] = []
        self._numbers = 0
        self._waiting: deque[Share] = deque()
        self._suspects: deque[Share] = deque()  # a worker was lost with each, perhaps with others beside it
        self._suspects_rest = 0.0  # until then
        self._items = list(items)
        self._seen_workers = time.monotonic()
        self._looked = 0.0
        self._run = uuid4().hex[:8]

    @property
    def finished(self) -> bool:
        return not (self._items or self._waiting or self._suspects or self._flights)

    def results(self, client: Any) -> Iterator[Any]:
        """Every item's result, once, as they come; after a SchedulerLostError it may be called again."""
        self._seen_workers = time.monotonic()
        self._look(client)
        self._cut()
        try:
            while not self.finished:
                self._fill(client)
                keys = self._still_there(self._next_landed())
                reports = self._fetch(client, keys)
                for key in keys:
                    yield from self._land(key, reports.get(key))
                self._look(client)
        finally:
            self._recall()

    def _cut(self) -> None:
        """A handful each, but no fewer shares than keep all workers busy twice."""
        most = 1 if self._takes_hours else self._profile.videos_per_task
        size = min(most, -(-len(self._items) // (2 * self._window_base())) or 1)
        for first in range(0, len(self._items), size):
            self._waiting.append(self._share(self._items[first : first + size]))
        self._items = []

    def _share(self, items: Sequence[Any], **facts: Any) -> Share:
        self._numbers += 1
        return Share(self._numbers, tuple(items), **facts)

    def _window_base(self) -> int:
        return max(self._workers, self._expected) * (self._rule.expected() if self._overlaps else 1)

    def _fill(self, client: Any) -> None:
        """A little more than there are workers, so that none waits for the next; never everything at once."""
        window = self._window_base() + max(1, self._window_base() // 4)
        while self._waiting and len(self._flights) < window:
            self._start(client, self._waiting.popleft())
        if self._waiting or time.monotonic() < self._suspects_rest:
            return
        while self._suspects and len(self._flights) < self._workers:
            self._start(client, self._suspects.popleft())
        if not self._suspects and len(self._flights) < self._workers and not self._takes_hours:
            self._start_again(client)

    def _start(self, client: Any, share: Share) -> None:
        limit = None if self._takes_hours else self._profile.time_limit
        alone = self._overlaps and share.tries > 0
        work = getattr(self._work, "cautious", lambda: self._work)() if share.tries else self._work
        task = WorkerTask(work, share.items, self._environment, limit, self._rule, alone=alone)
        key = f"{perform.__name__}-{self._run}-{share.number}-{uuid4().hex[:8]}"
        others = [address for address in self._addresses if address not in share.avoid] if share.avoid else None
        # a data producer waits at the scheduler until a worker is free: a lost worker is blamed on what it was doing
        where = {"workers": others, "allow_other_workers": others is not None}  # these may be gone by now
        future = client.submit(perform, task, key=key, pure=False, _data_producer=True, **where)
        self._flights[key] = Flight(share, future)
        self._watch(future)

    def _watch(self, future: Any) -> None:
        future.add_done_callback(lambda done: self._landed.put(done.key))

    def _start_again(self, client: Any) -> None:
        """The longest in flight, if it is slow and not yet in flight twice."""
        numbers = [flight.share.number for flight in self._flights.values()]
        alone = [flight for flight in self._flights.values() if numbers.count(flight.share.number) == 1]
        oldest = min(alone, key=lambda flight: flight.started, default=None)
        usual = statistics.median(self._turnarounds) if self._turnarounds else 0.0
        if oldest and time.monotonic() - oldest.started > max(self._profile.patience, SLOW * usual):
            self._journal.note("started again", items=[name_of(item) for item in oldest.share.items])
            self._start(client, oldest.share)

    def _next_landed(self) -> list[str]:
        """Keys of tasks that ended, all there are; none after a tick without one."""
        keys = []
        try:
            keys.append(self._landed.get(timeout=TICK))
            while True:
                keys.append(self._landed.get_nowait())
        except Empty:
            return keys

    def _still_there(self, keys: Sequence[str]) -> list[str]:
        """Without those whose answer was lost with its worker: dask does them again, and they land again."""
        redone = {
            key for key in keys if key in self._flights and self._flights[key].future.status in ("lost", "pending")
        }
        for key in redone:
            self._watch(self._flights[key].future)
        return [key for key in keys if key not in redone]

    def _fetch(self, client: Any, keys: Sequence[str]) -> dict[str, TaskReport]:
        """Answers of the tasks that ended well, all in one message; without those whose worker was lost since."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        flights = {key: self._flights[key] for key in keys if key in self._flights}
        if any(flight.future.status == "cancelled" for flight in flights.values()):
            raise SchedulerLostError
        well = {key: flight.future for key, flight in flights.items() if flight.future.status == "finished"}
        try:
            return client.sync(partial(client.gather, asynchronous=True), well, callback_timeout=ANSWER)
        except (KilledWorker, TimeoutError):
            alone = [] if len(well) == 1 else [self._fetch(client, [key]) for key in well]
            return {key: report for each in alone for key, report in each.items()}
        except (CancelledError, CommClosedError) as error:
            raise SchedulerLostError from error

    def _land(self, key: str, report: TaskReport | None) -> Iterator[Any]:
        flight = self._flights.pop(key, None)
        if flight is None:  # its twin was faster
            return
        if report is None:
            self._require_lost_worker(flight)
            yield from self._blame(flight.share)
            return
        if report.busy:
            self._suspects.append(flight.share)
            self._suspects_rest = time.monotonic() + TICK
            return
        self._turnarounds.append(time.monotonic() - flight.started)
        self._journal.write(report.worker, report.events)
        self._drop_twin(flight.share)
        if report.full is not None:
            self._addresses = _addresses(flight.future.client)
            self._move(flight.share, report)
        yield from report.results

    @staticmethod
    def _require_lost_worker(flight: Flight) -> None:
        """Any other error is the work's own, and ends the run as it would in this process."""
        from distributed import KilledWorker

        if flight.future.status == "error" and not isinstance(flight.future.exception(), KilledWorker):
            flight.future.result()

    def _move(self, share: Share, report: TaskReport) -> None:
        """To a worker whose disk has room; when there is none, the run ends."""
        avoid = share.avoid | {report.address}
        if report.full is not None and avoid.issuperset(self._addresses):
            raise report.full
        self._journal.note("disk full", full=report.worker)
        self._tell(f"the disk of {report.worker} is full")
        self._waiting.append(self._share(share.items[len(report.results) :], tries=share.tries, avoid=avoid))

    def _blame(self, share: Share) -> Iterator[Any]:
        names = [name_of(item) for item in share.items]
        self._journal.note("lost", items=names, tries=share.tries + 1)
        self._tell(f"a worker was lost with {', '.join(names)}")
        if any(flight.share.number == share.number for flight in self._flights.values()):
            return  # its twin goes on
        if share.tries + 1 < self._profile.attempts or (self._overlaps and not share.tries):
            self._suspects.extend(self._share([item], tries=share.tries + 1) for item in share.items)
            return
        for item in share.items:
            yield self._give_up(item)

    def _give_up(self, item: Any) -> Any:
        reason = LOST.format(self._profile.attempts)
        answer = getattr(self._work, "give_up", None)
        if answer is None:
            raise WorkerDiedError(f"'{name_of(item)}': {reason}", hint="framescribe cluster check, and the logs")
        self._journal.note("given up", items=[name_of(item)])
        return answer(item, reason)

    def _drop_twin(self, share: Share) -> None:
        for key in [key for key, flight in self._flights.items() if flight.share.number == share.number]:
            self._flights.pop(key).future.cancel()

    def _look(self, client: Any) -> None:
        """How many workers there are; none for too long, or none that can start, ends the run."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        if client.status != "running":
            raise SchedulerLostError
        self._looked = now
        self._addresses = _addresses(client)
        self._workers = len(self._addresses)
        if self._workers:
            self._seen_workers = now
        elif reason := getattr(client.cluster, "given_up", ""):
            raise ClusterError(f"no worker can start: {reason}", hint=CHECK)
        elif now - self._seen_workers > self._profile.wait:
            raise ClusterError(
                f"no worker has been there for {self._profile.wait:.0f} s (wait in the profile)",
                hint=CHECK,
            )

    def _recall(self) -> None:
        """What is still in flight when this ends is to be sent again by whoever goes on."""
        shares = {flight.share.number: flight.share for flight in self._flights.values()}
        for flight in self._flights.values():
            if flight.future.client.status == "running":
                flight.future.cancel()
        self._flights.clear()
        self._waiting.extendleft(share for share in shares.values() if not share.tries)
        self._suspects.extendleft(share for share in shares.values() if share.tries)


def _addresses(client: Any) -> list[str]:
    try:
        return list(client.nthreads())
    except OSError as error:
        raise SchedulerLostError from error
