"""Several tasks at a time in a worker that dask knows to have one thread: for work that overlaps, and for no other.

A task that finds a place left leaves dask's thread to the next one and goes on beside it. So all other work has the
worker for itself, whoever started the worker. When one is lost nobody can tell which of its tasks did it: each is tried
again alone, as only a worker at rest takes it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.core import cores, in_flight
from workflows.cluster.start import worker_count
from workflows.profiles import Cluster, Node, Queue, Ssh

GUESS = (
    4  # places of a worker whose cores are not known here; fewer would leave it idle, more only wait at the scheduler
)


@dataclass(frozen=True)
class PlaceRule:
    """How many tasks a worker takes at a time, decided there: this machine may have other cores."""

    stated: int | None = None
    most_cores: int | None = None
    sharers: int = 1  # workers of one machine

    def expected(self) -> int:
        """As far as can be told from here."""
        return self.stated or (in_flight(self.most_cores) if self.most_cores else GUESS)

    def count(self) -> int:
        have = min(cores(), self.most_cores or cores()) // self.sharers
        return self.stated or in_flight(have)


def place_rule(profile: Cluster) -> PlaceRule:
    if profile.videos_in_flight != "cores":
        return PlaceRule(stated=profile.videos_in_flight)
    if isinstance(profile, Node):
        return PlaceRule(most_cores=max(1, cores() // worker_count(profile)))
    if isinstance(profile, Queue):
        return PlaceRule(most_cores=profile.cpus)
    return PlaceRule(sharers=profile.workers_per_host if isinstance(profile, Ssh) else 1)


class TaskPlaces:
    """Those of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0

    @contextmanager
    def taken(self, *, alone: bool) -> Iterator[bool]:
        """Whether the task may go on; one that is to be alone may not where others are."""
        with self._lock:
            free = not (alone and self._taken)
            self._taken += free
        try:
            yield free
        finally:
            with self._lock:
                self._taken -= free

    def left(self, most: int) -> bool:
        return self._taken < most
