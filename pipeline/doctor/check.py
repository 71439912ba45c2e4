"""One thing that was looked at, and what it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SETUP = "make setup"  # mends whatever is not installed


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at. `missing` stops the default graph; `warn` does not."""

    name: str
    state: Literal["ok", "warn", "missing"]
    detail: str
    blocks: str = ""
    fix: str = ""
