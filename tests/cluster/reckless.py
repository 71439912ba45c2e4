"""A preload of workers: their decoding children let decord at every file first, and it hangs or aborts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.decoding import guard


def dask_setup(worker: Any) -> None:
    child = Path(__file__).parents[1] / "decoding/reckless_child.py"
    guard.PROGRAM = (guard.PROGRAM[0], str(child))
