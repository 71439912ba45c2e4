"""One thing that was looked at, and what it stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pipeline.core import FramescribeError

SETUP = "make setup"  # mends whatever is not installed


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at. `missing` stops the default graph; `warn` does not."""

    name: str
    state: Literal["ok", "warn", "missing"]
    detail: str
    blocks: str = ""
    fix: str = ""


def guarded(name: str, look: Callable[[], list[Check]]) -> list[Check]:
    """A package that cannot be imported, or a file that cannot be read, is a finding and not a crash."""
    try:
        return look()
    except ImportError as error:
        return [Check(name=name, state="missing", detail=str(error), blocks="the whole graph", fix=SETUP)]
    except FramescribeError as error:
        return [Check(name=name, state="missing", detail=error.message, blocks="the whole graph", fix=error.hint)]
    except OSError as error:
        return [Check(name=name, state="missing", detail=f"cannot be looked at: {error}", blocks="unknown")]
