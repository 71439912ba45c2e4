"""Video ids in messages: which occur twice, and a long list of them in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipeline.core.shown_text import printable

NAMED = 5  # written out; the rest are counted


def named(ids: Iterable[str]) -> str:
    """`a, b, c and 17 more`: enough to recognise the problem, short enough to read, and no line break among them."""
    every = [printable(each) for each in ids]
    rest = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def duplicates(ids: Iterable[str]) -> list[str]:
    return [id_ for id_, count in Counter(ids).items() if count > 1]
