"""The executor on dask. Whatever is repeated is found in the feature cache as far as it got."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.console import Console
from pipeline.errors import ClusterError
from workflows.campaign import Campaign, SchedulerLostError
from workflows.clusters import CONNECT, opened, worker_count
from workflows.journal import Journal
from workflows.pieces import VARIABLES, Place, require_own
from workflows.profiles import Cluster, Existing

RESUME = "run the same command: what was finished is kept"
LOGS_SECONDS = 5.0  # for all workers to hand in their logs; one that hangs shall not hold up the end


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
        place = place_of(self.profile)
        campaign = Campaign(work, items, place=place, profile=self.profile, journal=journal, workers=self.workers)
        seconds = CONNECT
        while not campaign.finished:
            with opened(self.profile, seconds=seconds) as client:
                self.console.say(f"cluster: {client.scheduler.address}, dashboard: {client.dashboard_link}")
                try:
                    yield from self._results(campaign, client)
                except SchedulerLostError as error:
                    seconds = self._waiting_time(error, journal)
        if journal.folder is not None:
            self.console.say(f"cluster: logs in {journal.folder}")

    def _results(self, campaign: Campaign, client: Any) -> Iterator[Any]:
        with _performance_report(client, self.profile.performance_report):
            for result in campaign.results(client):
                for trouble in campaign.told():
                    self.console.say(f"cluster: {trouble}")
                yield result
        _gather_logs(client, campaign.journal)

    def _waiting_time(self, error: SchedulerLostError, journal: Journal) -> float:
        """How long to wait for a scheduler that is not ours; our own ends with this process."""
        journal.note("scheduler lost")
        if not isinstance(self.profile, Existing):
            raise ClusterError("the scheduler ended", hint=RESUME) from error
        self.console.say(f"cluster: the scheduler is gone; waiting {self.profile.reconnect:.0f} s for it to come back")
        return self.profile.reconnect


def place_of(profile: Cluster) -> Place:
    environment = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    return Place(profile.folder or Path.cwd(), environment)


@contextmanager
def _performance_report(client: Any, path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    from distributed import performance_report

    path.parent.mkdir(parents=True, exist_ok=True)
    with client.as_current(), performance_report(filename=str(path)):
        yield


def _gather_logs(client: Any, journal: Journal) -> None:
    """Of the workers that answer."""
    if journal.folder is None:
        return
    with suppress(TimeoutError, OSError):
        logs: Mapping[str, Any] = client.sync(client.scheduler.worker_logs, callback_timeout=LOGS_SECONDS)
        journal.gather(logs)
