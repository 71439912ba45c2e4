"""What a person sees: lines, tables and progress, on a terminal, in a pipe, quietly or as JSON."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.core.command_progress import CommandProgress
from pipeline.core.shown_text import printable, printable_lines

PLAIN_WIDTH = 200  # columns of a table that goes to a file or a pipe: nothing there needs wrapping
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
PLAIN_INTERVAL = 10.0  # seconds between progress lines when the output is not a terminal


class Progress(Protocol):
    """Long work reports here; it cannot tell a bar from a log line from nothing."""

    def advance(self, steps: int = 1, note: str = "") -> None: ...


class _Silent:
    def advance(self, steps: int = 1, note: str = "") -> None: ...


SILENT: Progress = _Silent()


@dataclass(frozen=True)
class _Both:
    shown: Progress
    kept: Progress

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.shown.advance(steps, note)
        self.kept.advance(steps, note)


@dataclass
class _PlainLines:
    """One line every ten seconds and one at the end: readable in a log file."""

    label: str
    total: int
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    last_line: float = field(default_factory=time.monotonic)

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.done += steps
        now = time.monotonic()
        if self.done >= self.total or now - self.last_line >= PLAIN_INTERVAL:
            self.last_line = now
            line = f"{self.label}: {self.done}/{self.total}{self._pace(now - self.started)} {note}".rstrip()
            sys.stderr.write(printable(line) + "\n")

    def _pace(self, seconds: float) -> str:
        if not self.done:
            return ""  # before the first step nothing is known
        left = f", {clock((self.total - self.done) * seconds / self.done)} left" if self.done < self.total else ""
        return f" ({pace(self.done, seconds)}{left})"


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) or (isinstance(cell, str) and NUMBER.fullmatch(cell) is not None)


def pace(done: float, seconds: float) -> str:
    """A rate of what takes less than a second; of what takes longer, how long."""
    if done > seconds:
        return f"{done / max(seconds, 1e-9):.1f}/s"
    return f"{seconds / done:.1f} s each" if done else "0.0/s"


def clock(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


@dataclass(frozen=True)
class Console:
    """Results go to stdout, progress to stderr; `--json` leaves one JSON object on stdout and nothing else."""

    quiet: bool = False
    as_json: bool = False
    kept: CommandProgress | None = None  # where progress is told of as well, for whoever watches the project

    @property
    def talks(self) -> bool:
        return not (self.quiet or self.as_json)

    def say(self, text: str) -> None:
        if self.talks:
            sys.stdout.write(printable_lines(text) + "\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> None:
        """Columns whose every cell is a number are right-aligned, so that digits line up."""
        if not self.talks:
            return
        from rich.console import Console as RichConsole
        from rich.table import Table

        table = Table(
            title=printable_lines(title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
        )
        for position, name in enumerate(columns):
            numeric = bool(rows) and all(_is_number(row[position]) for row in rows)
            table.add_column(printable(name), justify="right" if numeric else "left")
        for row in rows:
            table.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else printable(str(cell)) for cell in row))
        width = None if sys.stdout.isatty() else PLAIN_WIDTH
        RichConsole(file=sys.stdout, width=width, markup=False, highlight=False).print(table)

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Progress]:
        with self._shown(label, total) as shown:
            if self.kept is None:
                yield shown
            else:
                with self.kept.bar(label, total) as kept:
                    yield _Both(shown, kept)

    @contextmanager
    def _shown(self, label: str, total: int) -> Iterator[Progress]:
        if not self.talks:
            yield SILENT
        elif sys.stderr.isatty():
            yield from _rich_bar(label, total)
        else:
            yield _PlainLines(label, total)

    def link(self, name: str, address: str) -> None:
        """Where more can be seen while the command runs."""
        if self.kept is not None:
            self.kept.link(name, address)

    def without(self, hidden: str) -> Console:
        """The same without lines that name a file below `hidden`: nobody can look there when the command is done."""
        return ConsoleWithout(self.quiet, self.as_json, self.kept, hidden=hidden)

    def finish(self, summary: dict[str, Any]) -> None:
        """The last thing a command does with its summary."""
        if self.as_json:
            sys.stdout.write(json.dumps(summary, indent=2, default=str) + "\n")


@dataclass(frozen=True)
class ConsoleWithout(Console):
    """As `Console.without` makes it."""

    hidden: str = ""

    def say(self, text: str) -> None:
        if self.hidden not in text:
            super().say(text)


def _rich_bar(label: str, total: int) -> Iterator[Progress]:
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as RichProgress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),  # "[/b]" is a name, no markup
    )
    with RichProgress(*columns, console=RichConsole(stderr=True)) as bar:
        task = bar.add_task(printable(label), total=total, note="", speed="")

        class _Bar:
            def advance(self, steps: int = 1, note: str = "") -> None:
                facts = bar.tasks[task]
                speed = pace(facts.completed + steps, facts.elapsed or 0.0)
                bar.update(task, advance=steps, note=printable(note), speed=speed)

        yield _Bar()
