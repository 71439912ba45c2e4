"""The decoding child without its caution: decord is let at every file first, by random access, and hangs or aborts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.decoding.child import OPERATIONS, Session, main
from pipeline.decoding.decord import decord


def examine(session: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    decord.VideoReader(request["path"])[-1]
    yield from OPERATIONS["examine"](session, request)


if __name__ == "__main__":
    main(OPERATIONS | {"examine": examine})
