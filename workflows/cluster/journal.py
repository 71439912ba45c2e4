"""One file of JSON lines per worker and run: what it did, when, for how long, and what dask said of it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Journal:
    """The lines come with the results, so that workers need no place to write to; `folder` None keeps nothing."""

    folder: Path | None

    @classmethod
    def opened(cls, root: Path | None) -> Journal:
        return cls(root and root / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}")

    def write(self, worker: str, events: Iterable[Mapping[str, Any]]) -> None:
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{_file_name(worker)}.jsonl").open("a") as stream:
            stream.writelines(json.dumps({"worker": worker, **event}) + "\n" for event in events)

    def note(self, event: str, **facts: Any) -> None:
        """Something the client saw."""
        self.write("client", [{"time": time.time(), "event": event, **facts}])

    def gather(self, worker: str, lines: Iterable[tuple[str, str]]) -> None:
        """dask's own lines of a worker, at the end."""
        self.write(worker, [{"event": "log", "level": level, "text": text} for level, text in lines])


def _file_name(worker: str) -> str:
    return re.sub(r"[^\w.-]+", "-", worker.partition("://")[2] or worker)
