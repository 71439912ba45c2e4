"""How far the commands of a project are: a small file of each in `logs/commands`, written about once a second.

Whoever watches reads it: `read_commands`. A command that is killed cannot say so, but its file names the process with
its start, which is then gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.atomic import sweep
from pipeline.core.errors import FramescribeError
from pipeline.core.process_mark import process_mark
from pipeline.core.sealed_file import write_sealed_json
from pipeline.core.shown_text import printable

COMMANDS = Path("logs/commands")
PROJECT = Path("params.yaml")  # a folder with it is a project; nothing is written into others
INTERVAL = 1.0  # seconds between two writes, at least
WINDOW = 30  # writes over which the rate is taken: what a cache gave at once says nothing of what is left
KEPT = 100  # files of the newest commands
SHOWN = 300  # characters of a label, a note or a reason


@dataclass
class Bar:
    """One piece of work of a command, as its progress bar shows it; it is what a file says of it."""

    label: str
    total: int
    done: int = 0
    note: str = ""
    seconds: float = 0.0
    rate: float = 0.0  # steps a second, of late
    ended: bool = False


@dataclass
class CommandProgress:
    """The file of one command. Without bars there is none; where it cannot be written the work goes on."""

    command: str
    folder: Path
    clock: Callable[[], float] = time.monotonic
    bars: list[Bar] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)  # where more can be seen: dask's dashboard
    _began: float = field(default_factory=time.time)
    _written: float = float("-inf")
    _late: threading.Timer | None = None  # writes what came too soon after the last time
    _writing: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def bar(self, label: str, total: int) -> Iterator[_Counted]:
        if not self.bars:
            self._make_room()
        self.bars.append(Bar(_short(label), total))
        counted = _Counted(self, self.bars[-1], begun=self.clock())
        self.write()
        try:
            yield counted
        finally:
            counted.end()

    def link(self, name: str, address: str) -> None:
        self.links[name] = address
        self.write()

    def end(self, state: str, problem: str = "") -> None:
        self.write(state, problem)

    def tell(self, write: Callable[[], None]) -> None:
        """Now, or when a second has passed: the last step before a long one shall not be missed."""
        if self.clock() - self._written >= INTERVAL:
            write()
        elif self._late is None:
            self._late = threading.Timer(INTERVAL, write)
            self._late.daemon = True
            self._late.start()

    def write(self, state: str = "running", problem: str = "") -> None:
        if not self.bars:
            return
        with self._writing:
            if self._late is not None:
                self._late.cancel()
            self._late, self._written = None, self.clock()
            with suppress(OSError, FramescribeError):  # a full disk ends no command that did not need it
                write_sealed_json(self._path, self._facts(state, problem), lasting=False)

    @property
    def _path(self) -> Path:
        return self.folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(self._began))}-{os.getpid()}.json"

    def _facts(self, state: str, problem: str) -> Mapping[str, Any]:
        return {
            "command": self.command,
            "state": state,
            "problem": _short(problem),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process": process_mark(os.getpid()) or "",
            "began": self._began,
            "told": time.time(),
            "bars": [vars(bar) for bar in self.bars[-WINDOW:]],
            "links": self.links,
        }

    def _make_room(self) -> None:
        with suppress(OSError):
            sweep(self.folder)
            for path in sorted(self.folder.glob("*.json"))[: 1 - KEPT]:
                path.unlink(missing_ok=True)  # one that still runs writes it again


class _Counted:
    """Counts the steps of a bar, and writes when it is time: of most steps it costs a look at the clock."""

    def __init__(self, file: CommandProgress, bar: Bar, *, begun: float) -> None:
        self._file, self._bar, self._begun, self._note = file, bar, begun, ""
        self._seen = deque([(begun, 0)], maxlen=WINDOW)

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._bar.done += steps
        self._note = note or self._note
        self._file.tell(self._write)

    def end(self) -> None:
        self._bar.ended = True
        self._write()

    def _write(self) -> None:
        bar, now = self._bar, self._file.clock()
        then, before = self._seen[0]
        bar.note, bar.seconds = _short(self._note), now - self._begun
        bar.rate = (bar.done - before) / (now - then) if now > then else 0.0
        self._seen.append((now, bar.done))
        self._file.write()


@contextmanager
def told_progress(command: str) -> Iterator[CommandProgress | None]:
    """Of a command that runs in a project: how it ends is said as well."""
    if not PROJECT.is_file():
        yield None
        return
    progress = CommandProgress(command, COMMANDS.absolute())
    try:
        yield progress
    except KeyboardInterrupt:
        progress.end("stopped")
        raise
    except BaseException as error:
        progress.end("failed", error.message if isinstance(error, FramescribeError) else type(error).__name__)
        raise
    progress.end("done")


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
