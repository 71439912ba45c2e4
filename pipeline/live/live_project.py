"""The project that is looked at: its files, read as the commands read them, and the folder that is the server's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.core import Console, atomic, cache_folder, sweep
from pipeline.live.clip_jobs import ClipJobs
from pipeline.live.stopping import uninterrupted
from pipeline.params import Params, load_params


@dataclass(frozen=True)
class LiveProject:
    """Paths of the project are relative to its root, the current folder, as everywhere else."""

    folder: Path  # the server's own; it goes when the server stops
    device: str
    console: Console
    jobs: ClipJobs

    def params(self) -> Params:
        """As they are now: they may be edited while the server runs."""
        return load_params()


@contextmanager
def opened_project(*, device: str, console: Console) -> Iterator[LiveProject]:
    above = cache_folder("live").absolute()
    sweep(above)  # of servers that were killed
    folder = above / atomic.own_name("serve")
    folder.mkdir(parents=True)
    jobs = ClipJobs(folder / "clips", device=device)
    try:
        yield LiveProject(folder, device, console, jobs)
    finally:
        with uninterrupted():
            jobs.close()
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another server's is still there
                above.rmdir()
