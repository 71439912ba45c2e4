"""A cluster that starts another worker for each that was killed, at whatever moment.

dask's nanny closes for good when its worker is killed while it starts, and dask's cluster closes a nanny whose worker
takes long to come back; neither is replaced.
"""

from __future__ import annotations

import logging

from pipeline.core import MissingToolError

try:
    from distributed import SpecCluster, Status
    from tornado.ioloop import PeriodicCallback
except ModuleNotFoundError as error:
    raise MissingToolError("this profile needs dask", hint="pip install 'framescribe[cluster]'") from error

LOOK = 2.0  # seconds between looks
GONE = (Status.closed, Status.failed)

log = logging.getLogger(__name__)


class RespawningCluster(SpecCluster):
    async def _start(self) -> None:
        await super()._start()
        if "respawn" not in self.periodic_callbacks:  # a cluster may be awaited twice
            self.periodic_callbacks["respawn"] = PeriodicCallback(self._respawn, LOOK * 1000)
            self.periodic_callbacks["respawn"].start()

    async def _respawn(self) -> None:
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
