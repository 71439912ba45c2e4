"""A preload of workers: where a file `full` names them, the kernel lets them write no file of any size."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any


def dask_setup(worker: Any) -> None:
    if str(worker.name) in Path("full").read_text().split():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
