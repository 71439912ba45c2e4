"""Why a worker process is gone: killed, crashed, or ended by itself because it could not start."""

from __future__ import annotations

import signal
from contextlib import suppress
from multiprocessing import context

STOPPED = (None, 0, -signal.SIGTERM)  # never started, or ended by the pool after another one was gone


class WatchedProcesses(context.SpawnContext):
    """Starts processes clean (`spawn`: forking after torch has threads deadlocks) and remembers how each ended."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[context.SpawnProcess] = []

    def Process(self, *args, **kwargs):  # type: ignore[no-untyped-def,override]  # noqa: N802 - multiprocessing's name
        self.started.append(context.SpawnProcess(*args, **kwargs))
        return self.started[-1]

    def told(self) -> tuple[str, str]:
        """What happened, and what to do: asked when the pool has waited for all of them."""
        codes = [process.exitcode for process in self.started if process.exitcode not in STOPPED]
        return explain_end(codes[0] if codes else None)


def explain_end(code: int | None) -> tuple[str, str]:
    if code == -signal.SIGKILL:
        fewer = "run the same command: it goes on. With a profile of fewer workers it needs less memory"
        return "a worker process was killed (SIGKILL), perhaps for want of memory", fewer
    if code is not None and code < 0:
        name = str(-code)
        with suppress(ValueError):
            name = signal.Signals(-code).name
        return f"a worker process crashed ({name})", "run the same command: it goes on. With `workers: 1` it runs here"
    if code:
        why = f"a worker process ended by itself with exit code {code}; what it said is above"
        return why, "mend what it says, or use a profile with `workers: 1`, which starts no process"
    return "a worker process is gone", "run the same command: it goes on"
