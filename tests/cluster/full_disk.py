"""A preload of workers: where a file `full` names them, there is no room on their disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any


def dask_setup(worker: Any) -> None:
    if str(worker.name) in Path("full").read_text().split():
        os.fsync = no_room


def no_room(_: int) -> None:
    """What is published is synced first, and a full disk may say so only then."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
