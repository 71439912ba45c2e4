"""A decoding child that adds a byte to the file FRAMES_DECODED for every frame that a decoder gives it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.decoding import decord, pyav, torchcodec
from pipeline.decoding.child import main

LOG = os.open(os.environ["FRAMES_DECODED"], os.O_WRONLY | os.O_APPEND)


def counted(reader: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    def read(*args: Any, **options: Any) -> Iterator[Any]:
        for frame in reader(*args, **options):
            os.write(LOG, b".")
            yield frame

    return read


if __name__ == "__main__":
    for module, name in ((pyav, "frames_in_order"), (decord, "_read"), (torchcodec, "_read")):
        setattr(module, name, counted(getattr(module, name)))
    main()
