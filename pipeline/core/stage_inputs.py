"""What a stage reads must stay as it was: DVC records dependencies after the command, whatever the command read.

A stage names all its inputs once, asks right before it publishes, and is asked again when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.core.hashing import file_sha256
from pipeline.core.shown_text import printable

MOST_NAMED = 5
UNFINISHED = ".*.tmp"  # of pipeline/core/atomic.py: another process is writing it
Changes = Callable[[], Sequence[str]]  # of inputs that are no files: what is other than at the start, a line each


def no_changes() -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class StageInputs:
    """Files, and files directly in folders, as they were when the stage began; it travels to workers."""

    paths: tuple[Path, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)  # file -> hash; a file that is not there has none
    values: Changes = no_changes

    def require_unchanged(self, *, published: bool = False) -> None:
        """To be called right before outputs are published; until then nothing of before is touched."""
        changes = self.changes()
        if changes:
            more = f" and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
            outcome = "what was published is of the inputs before" if published else "nothing was published"
            raise InputError(
                f"changed while this ran: {'; '.join(changes[:MOST_NAMED])}{more}; {outcome}",
                hint="run the same command again; what was computed is kept and used where it fits",
            )

    def changes(self) -> list[str]:
        return [*self.values(), *differences(self.sha256, hashes(self.paths))]


UNGUARDED = StageInputs()


@contextmanager
def unchanged(paths: Iterable[Path] = (), *, values: Changes = no_changes) -> Iterator[StageInputs]:
    """Inputs that are the same when the block ends, or an error that names each that is not."""
    named = tuple(dict.fromkeys(paths))
    inputs = StageInputs(named, hashes(named), values)
    yield inputs
    inputs.require_unchanged(published=True)


def hashes(paths: Iterable[Path]) -> dict[str, str]:
    """Of every regular file; what cannot be read has none, and whoever needs it says why."""
    found = {}
    for path in paths:
        with suppress(OSError):
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                if file.is_file() and not file.match(UNFINISHED):
                    found[str(file)] = file_sha256(file)
    return found


def differences(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """The names whose values are other ones, that are new, or that are gone."""
    same = {name for name in before.keys() & now.keys() if before[name] == now[name]}
    return [_told(name, before, now) for name in sorted({*before, *now} - same)]


def _told(name: str, before: Mapping[str, object], now: Mapping[str, object]) -> str:
    return printable(name) + ("" if name in before and name in now else " is new" if name in now else " is gone")
