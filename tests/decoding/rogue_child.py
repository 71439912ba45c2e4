"""The decoding child with operations that misbehave on purpose, to see what the guard makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.decoding.child import OPERATIONS, Session, main
from pipeline.decoding.decord import decord


def hang(_: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """decord's endless loop: native code that never returns, on which no Python signal handler would run."""
    decord.VideoReader(request["path"])[-1]
    yield {}


def abort(_: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """decord's abort over a header that promises billions of frames."""
    decord.VideoReader(request["path"])
    yield {}


def fill(_: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Memory, written to, until the limit or the wanted amount is reached."""
    blocks = [np.ones(1 << 20, np.uint8) for _ in range(request["megabytes"])]
    yield {"blocks": len(blocks)}


def quit_now(_: Session, __: dict[str, Any]) -> Iterator[dict[str, Any]]:
    os._exit(3)
    yield {}


def name_process(_: Session, __: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"process": os.getpid()}


def raise_error(_: Session, __: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What PyAV raises over side data that it does not know."""
    raise ValueError("31 is not a valid Type\nand more lines")
    yield {}


if __name__ == "__main__":
    rogue = {"hang": hang, "abort": abort, "fill": fill, "quit": quit_now, "name": name_process, "raise": raise_error}
    main(OPERATIONS | rogue)
