"""The last lines of the logs that workers write: bounded, and of files of the project's own logs alone."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.core import InputError, printable

LOGS = Path("logs")
ENDINGS = (".jsonl", ".log", ".txt")
OTHERS = ("commands",)  # folders of logs/ that hold no lines
FILES = 100  # newest ones of the list
LOOKED_AT = 5000  # files, at most, to find the newest
BYTES = 64 * 1024  # of the end of a file
LINES = 100
SHOWN = 500  # characters of a line


@dataclass(frozen=True)
class LogFile:
    name: str  # below logs/, with slashes
    bytes: int
    written: float  # seconds since 1970


@dataclass(frozen=True)
class LogLine:
    time: float | None
    level: str
    text: str


def list_logs(root: Path = LOGS) -> list[LogFile]:
    """Newest first. A link is not followed: it may lead anywhere."""
    found = []
    for number, (folder, below, names) in enumerate(os.walk(root)):
        below[:] = [name for name in sorted(below, reverse=True) if folder != str(root) or name not in OTHERS]
        found += [file for name in names if name.endswith(ENDINGS) and (file := _listed(Path(folder, name), root))]
        if number + len(found) > LOOKED_AT:
            break
    return sorted(found, key=lambda file: (-file.written, file.name))[:FILES]


def _listed(path: Path, root: Path) -> LogFile | None:
    try:
        facts = path.lstat()
    except OSError:  # just removed
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return LogFile(path.relative_to(root).as_posix(), facts.st_size, facts.st_mtime)


def tail_of(name: str, root: Path = LOGS) -> list[LogLine]:
    """The last lines of a file of the list, oldest first; a name that is not in it is no file."""
    if name not in {file.name for file in list_logs(root)}:
        raise InputError(f"there is no log '{printable(name)}'", hint="choose one of the list")
    return [_line(text) for text in _last_lines(root / name)]


def _last_lines(path: Path) -> list[str]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - BYTES))
        lines = stream.read(BYTES).decode("utf-8", "replace").split("\n")
    whole = lines if size <= BYTES else lines[1:]  # the first one is cut
    return [line for line in whole if line.strip()][-LINES:]


def _line(text: str) -> LogLine:
    """A line of a worker's journal in words; anything else as it is."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        return LogLine(None, "", _short(text))
    time, level = facts.get("time"), facts.get("level", "")
    told = _short(str(facts["text"]) if "text" in facts else _words(facts))
    return LogLine(float(time) if isinstance(time, int | float) else None, _short(str(level)), told)


def _words(facts: Mapping[str, object]) -> str:
    rest = {key: value for key, value in facts.items() if key not in ("time", "event", "worker", "level")}
    return f"{facts.get('event', '')} {', '.join(f'{key} {value}' for key, value in rest.items())}".strip()


def _short(text: str) -> str:
    shown = printable(text[: SHOWN + 1])
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
