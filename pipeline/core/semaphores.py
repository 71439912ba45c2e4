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

SHARED = Path("/dev/shm")  # noqa: S108 - where Linux has them
PREFIX = "framescribe"
NAME = re.compile(rf"sem\.{PREFIX}-(?P<owner>\d+-(?P<number>\d+)-\d+)-\w+")


def claim_semaphores() -> None:
    """Semaphores of this process and of its children carry its name from now on; those of dead processes go."""
    own = _owner(os.getpid())
    if own is None:  # no /proc
        return
    process.current_process()._config["semprefix"] = f"/{PREFIX}-{own}"  # type: ignore[attr-defined]
    for path in SHARED.glob(f"sem.{PREFIX}-{_namespace()}-*"):
        name = NAME.fullmatch(path.name)
        if name and _owner(int(name["number"])) != name["owner"]:
            with suppress(FileNotFoundError, PermissionError):  # another was faster; another user's
                path.unlink()


def _owner(number: int) -> str | None:
    """Number and start, for numbers are used again; and whose, for containers may share memory but not numbers."""
    try:
        facts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return None if facts[0] in "ZX" else f"{_namespace()}-{number}-{facts[19]}"
    except OSError:
        return None


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
