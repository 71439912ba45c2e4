"""Named semaphores of process groups that were killed whole, which nobody would remove from shared memory.

multiprocessing gives each semaphore a name in /dev/shm and has a process that removes them, unless that is killed with
the others. So ours are named after the process that made them, and the next command removes those of the dead.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from multiprocessing import process
from pathlib import Path

from pipeline.core.process_mark import number_space, process_mark

SHARED = Path("/dev/shm")  # noqa: S108 - where Linux has them
PREFIX = "framescribe"
NAME = re.compile(rf"sem\.{PREFIX}-(?P<owner>\d+-(?P<number>\d+)-\d+)-\w+")


def claim_semaphores() -> None:
    """Semaphores of this process and of its children carry its name from now on; those of dead processes go."""
    own = process_mark(os.getpid())
    if own is None:  # no /proc
        return
    process.current_process()._config["semprefix"] = f"/{PREFIX}-{own}"  # type: ignore[attr-defined]
    for path in SHARED.glob(f"sem.{PREFIX}-{number_space()}-*"):
        name = NAME.fullmatch(path.name)
        if name and process_mark(int(name["number"])) != name["owner"]:
            with suppress(FileNotFoundError, PermissionError):  # another was faster; another user's
                path.unlink()
