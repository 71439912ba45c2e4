"""One step ahead: what comes next is made in a background thread while the last is being used."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The same items in the same order, errors included; at most one waits, and no thread is left behind.

    `items` runs in the thread from beginning to end, and is closed there however this ends.
    """
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        coming = thread.submit(next, items, end)
        try:
            while (item := coming.result()) is not end:
                coming = thread.submit(next, items, end)
                yield item  # type: ignore[misc]
        finally:
            thread.submit(items.close)
