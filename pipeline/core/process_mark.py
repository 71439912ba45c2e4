"""A process by its number and its start, for numbers are used again; and whose, for containers may share a disk."""

from __future__ import annotations

from pathlib import Path


def process_mark(number: int) -> str | None:
    """None of one that has ended, and where there is no /proc."""
    try:
        facts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return None if facts[0] in "ZX" else f"{number_space()}-{number}-{facts[19]}"
    except OSError:
        return None


def number_space() -> int:
    """Of which container the numbers of processes are that are seen here."""
    return Path("/proc/self/ns/pid").stat().st_ino
