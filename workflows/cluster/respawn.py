"""A cluster that has its workers again whatever was killed.

dask's nanny closes for good when its worker is killed while it starts, and dask's cluster closes a nanny whose worker
takes long to come back; neither is replaced.
"""

from __future__ import annotations

import logging

from distributed import SpecCluster, Status
from tornado.ioloop import PeriodicCallback

LOOK = 2.0  # seconds between looks
GONE = (Status.closed, Status.failed)

log = logging.getLogger(__name__)


class HealingCluster(SpecCluster):
    async def _start(self) -> None:
        await super()._start()
        if "heal" not in self.periodic_callbacks:  # a cluster may be awaited twice
            self.periodic_callbacks["heal"] = PeriodicCallback(self._heal, LOOK * 1000)
            self.periodic_callbacks["heal"].start()

    async def _heal(self) -> None:
        if self.status != Status.running or self._lock.locked():  # it is at work on its workers, or ends
            return
        for name in [name for name, worker in self.workers.items() if worker.status in GONE]:
            del self.workers[name]
        if set(self.worker_spec) <= set(self.workers):
            return
        try:
            await self._correct_state()
        except (OSError, RuntimeError, TimeoutError) as error:
            log.info("a worker did not start, and is started again: %s", error)
