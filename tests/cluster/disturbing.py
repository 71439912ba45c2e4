"""Something that happens in the middle of a run, and what must be the same afterwards."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.dying import runs
from tests.store.making import content, extracted
from workflows.cluster.executor import DaskExecutor


@dataclass(frozen=True)
class Disturbed:
    """An executor during whose work something happens after each result."""

    executor: DaskExecutor
    disturb: Callable[[int], None]

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        for number, result in enumerate(self.executor.map(work, items)):
            yield result
            self.disturb(number)


def worker_processes() -> list[psutil.Process]:
    """All that were forked from the warm process."""
    family = [each for each in psutil.Process().children(recursive=True) if runs(each)]
    forked = [each for each in family if "multiprocessing.forkserver" in " ".join(_command(each))]
    return [each for each in forked if each.ppid() in {other.pid for other in forked}]


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):  # it ended meanwhile
        return list(process.cmdline())
    return []


def kill_one(numbers: random.Random, *, killed: list[int]) -> None:
    """Of those that are alive: one that was killed may still be listed, and may be gone when it is asked."""
    if victims := [each for each in worker_processes() if each.pid not in killed]:
        victim = numbers.choice(victims)
        with suppress(psutil.NoSuchProcess):
            victim.kill()
            killed.append(victim.pid)


def cached() -> dict[str, int]:
    """Entries of the feature cache by inode, which an entry that is written again does not keep."""
    return {path.name: path.stat().st_ino for path in Path("cache/features").glob("??/*")}


def undisturbed(index: Path, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "other"))
        extracted(index, folder / "expected")
    assert content(folder / "store") == content(folder / "expected")


@contextmanager
def killed_while_starting(kills: int) -> Iterator[list[int]]:
    """So many of the workers that start in this block, each within moments of its fork, long before it can work."""
    numbers, killed, over = random.Random(kills), list[int](), threading.Event()

    def kill() -> None:
        while len(killed) < kills and not over.is_set():
            for victim in [each for each in worker_processes() if each.pid not in killed][: kills - len(killed)]:
                time.sleep(numbers.uniform(0, 0.02))
                victim.kill()
                killed.append(victim.pid)

    def kill_all() -> None:
        while len(killed) < kills and not over.is_set():
            with suppress(psutil.NoSuchProcess):
                kill()

    thread = threading.Thread(target=kill_all)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
