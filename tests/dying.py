"""Waiting for a process to be gone. The limit is that of every test: a killed process needs processor time to die."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil


def runs(process: psutil.Process) -> bool:
    """It may end between being listed and being asked."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_the_end(process: int) -> None:
    """A zombie, which whoever inherited it has not collected yet, is gone."""
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.05)
