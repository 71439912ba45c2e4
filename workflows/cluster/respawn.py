"""A cluster that starts another worker for each that was killed, at whatever moment: also while it first starts.

dask's nanny closes for good when its worker is killed while it starts, which ends a cluster that is starting, and
dask's cluster closes a nanny whose worker takes long to come back; neither is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.core import MissingToolError

try:
    from distributed import SpecCluster, Status
    from tornado.ioloop import PeriodicCallback
except ModuleNotFoundError as error:
    raise MissingToolError("this profile needs dask", hint="pip install 'framescribe[cluster]'") from error

LOOK = 2.0  # seconds between looks
STARTS = 50  # in a row that failed; no other follows, and a run that has no worker ends
ALIKE = 3  # the same with one error of the worker's own, such as a module that is not there: another start is no use
GONE = (Status.closed, Status.failed)


class RespawningCluster(SpecCluster):
    def __init__(self, *, tell: Callable[[str], None], **settings: Any) -> None:
        self._tell = tell
        self._failures: list[Exception] = []  # in a row
        super().__init__(**settings)

    @property
    def given_up(self) -> str:
        """Why no other worker is started; empty while one is."""
        last = self._failures[-ALIKE:]
        alike = len(last) == ALIKE and len({_reason(each) for each in last}) == 1 and _is_told(last[0])
        return _reason(last[-1]) if alike or len(self._failures) >= STARTS else ""

    async def _start(self) -> None:
        await super()._start()
        if "respawn" not in self.periodic_callbacks:  # a cluster may be awaited twice
            self.periodic_callbacks["respawn"] = PeriodicCallback(self._respawn, LOOK * 1000)
            self.periodic_callbacks["respawn"].start()

    async def _respawn(self) -> None:
        if self.status != Status.running or self._lock.locked():  # it is at work on its workers, or ends
            return
        self._forget_gone()
        if not set(self.worker_spec) <= set(self.workers):
            await self._correct_state()

    async def _correct_state_internal(self) -> None:
        if self.given_up and self.status == Status.running:
            self._correct_state_waiting = None  # as dask does: the next call, perhaps the last, is another task
            return
        try:
            await super()._correct_state_internal()
        except Exception as error:
            if not _is_death(error):
                raise
            self._failures.append(error)
            self._forget_gone()
            again = "no other is started" if self.given_up else "another is started"
            self._tell(f"a worker did not start ({_reason(error)}); {again}")
        else:
            self._failures.clear()

    def _forget_gone(self) -> None:
        for name in [name for name, worker in self.workers.items() if worker.status in GONE]:
            del self.workers[name]


def _is_death(error: Exception) -> bool:
    """Rather than a mistake of the profile, such as a key that ssh does not take."""
    return isinstance(error, OSError | RuntimeError | TimeoutError) or type(error) is Exception  # dask's, over ssh


def _is_told(error: Exception) -> bool:
    """By the worker itself, before it ended; of one that was killed there is only its silence."""
    return not isinstance(_root(error), OSError | RuntimeError | TimeoutError)


def _reason(error: Exception) -> str:
    return str(_root(error)) or type(_root(error)).__name__


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
