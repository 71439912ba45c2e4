"""The executor on dask. Whatever is repeated is found in the feature cache as far as it got."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import ClusterError, Console
from workflows.cluster.journal import Journal
from workflows.cluster.scheduling import Dispatcher, SchedulerLostError
from workflows.cluster.start import CONNECT, opened, worker_count
from workflows.cluster.worker import VARIABLES, WorkerEnvironment, require_own
from workflows.profiles import Cluster, Existing

RESUME = "run the same command: what was finished is kept"
LOGS_SECONDS = 5.0  # for a worker to hand in its log; one that hangs shall not hold up the end


@dataclass(frozen=True)
class DaskExecutor:
    profile: Cluster
    console: Console

    @property
    def workers(self) -> int:
        return worker_count(self.profile)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        require_own(work)
        if not items:
            return
        journal = Journal.opened(self.profile.logs)
        dispatcher = Dispatcher(
            work,
            items,
            environment=environment_of(self.profile),
            profile=self.profile,
            journal=journal,
            workers=self.workers,
            tell=self._tell,
        )
        seconds = CONNECT
        try:
            while not dispatcher.finished:
                with opened(self.profile, tell=self._tell, seconds=seconds) as client:
                    self._tell(f"{client.scheduler.address}, {_dashboard(client, self.profile)}")
                    if self.profile.dashboard is not None:
                        self.console.link("dask dashboard", client.dashboard_link)
                    try:
                        yield from self._results(dispatcher, client, journal)
                    except SchedulerLostError as error:
                        seconds = self._waiting_time(error, journal)
        finally:  # whoever looks for the reason of an error needs them most
            if journal.folder is not None and journal.folder.is_dir():
                self._tell(f"logs in {journal.folder}")

    def _tell(self, text: str) -> None:
        self.console.say(f"cluster: {text}")

    def _results(self, dispatcher: Dispatcher, client: Any, journal: Journal) -> Iterator[Any]:
        try:
            with _performance_report(client, self.profile.performance_report):
                yield from dispatcher.results(client)
        except SchedulerLostError:  # there is nobody to ask
            raise
        except Exception:
            _gather_logs(client, journal)
            raise
        _gather_logs(client, journal)

    def _waiting_time(self, error: SchedulerLostError, journal: Journal) -> float:
        """How long to wait for a scheduler that is not ours; our own ends with this process."""
        journal.note("scheduler lost")
        if not isinstance(self.profile, Existing):
            raise ClusterError("the scheduler ended", hint=RESUME) from error
        self._tell(f"the scheduler is gone; waiting {self.profile.reconnect:.0f} s for it to come back")
        return self.profile.reconnect


def environment_of(profile: Cluster) -> WorkerEnvironment:
    variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    return WorkerEnvironment(profile.folder or Path.cwd(), variables)


@contextmanager
def _performance_report(client: Any, path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    from distributed import performance_report

    path.parent.mkdir(parents=True, exist_ok=True)
    with client.as_current(), ExitStack() as stack:
        stack.enter_context(performance_report(filename=str(path)))
        try:
            yield
        except SchedulerLostError:
            stack.pop_all()  # there is nobody to ask for the page
            raise


def _dashboard(client: Any, profile: Cluster) -> str:
    return "no dashboard" if profile.dashboard is None else f"dashboard: {client.dashboard_link}"


def _gather_logs(client: Any, journal: Journal) -> None:
    """Of the workers that answer."""
    if journal.folder is None:
        return
    try:
        names = {address: str(each["name"]) for address, each in client.scheduler_info().get("workers", {}).items()}
        logs = client.sync(_logs, client.scheduler, list(names), callback_timeout=2 * LOGS_SECONDS)
    except (TimeoutError, OSError):
        return
    for address, lines in logs.items():
        journal.gather(names[address], lines)


async def _logs(scheduler: Any, addresses: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """dask's own lines of each worker, oldest first; nothing of one that hangs."""

    async def ask(address: str) -> dict[str, list[tuple[str, str]]]:
        try:
            return await asyncio.wait_for(scheduler.worker_logs(workers=[address]), LOGS_SECONDS)
        except (TimeoutError, OSError):
            return {}

    found = await asyncio.gather(*(ask(address) for address in addresses))
    return {address: list(reversed(lines)) for each in found for address, lines in each.items()}
