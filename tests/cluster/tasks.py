"""Work for workers, importable by name as all work must be."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

GROWTH = 2 << 30  # bytes


@dataclass(frozen=True)
class Troublesome:
    """Echoes its items, unless one is poison."""

    seconds: float = 0.0

    def __call__(self, item: str) -> str:
        time.sleep(self.seconds)
        if item.startswith("dies"):
            os._exit(1)
        if item.startswith("grows"):
            hoard = bytearray(b"x") * GROWTH  # written to, so that it is really there
            time.sleep(120)
            hoard.clear()
        if item.startswith("hangs"):
            re.match(r"(a*)*b", "a" * 40)  # native code that holds the interpreter: no Python thread can end it
        return item.upper()

    def give_up(self, item: str, why: str) -> str:
        return f"{item}: {why}"


@dataclass(frozen=True)
class Slow:
    """Takes long where it is tried first, and is quick elsewhere."""

    folder: Path

    def __call__(self, item: str) -> str:
        if item == "slow":
            try:
                (self.folder / "first").open("x").close()
            except FileExistsError:
                return item
            time.sleep(600)
        return item


def process(_: object) -> int:
    return os.getpid()


def dies(_: object) -> None:
    """Nobody answers for it: it has no `give_up`."""
    os._exit(1)


@dataclass(frozen=True)
class Meeting(Troublesome):
    """Those that meet wait for one another, so that only a worker that has both in flight gets on."""

    folder: Path = Path()
    overlaps = True

    def __call__(self, item: str) -> str:
        if item.startswith("meets"):
            (self.folder / item).touch()
            end = time.monotonic() + 60
            while len(list(self.folder.glob("meets*"))) < 2:
                assert time.monotonic() < end, "nobody came"
                time.sleep(0.01)
        return super().__call__(item)

    def interrupt(self) -> None:
        """Nothing waits for anybody outside."""
