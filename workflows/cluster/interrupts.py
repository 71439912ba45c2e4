"""A preload of workers on this machine: a terminal sends Ctrl-C to them too, but their client decides when they end."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(_: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
