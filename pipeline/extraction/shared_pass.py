"""Other entries of `extract` that the same pass over a video can serve: what they lack is kept for their own stages.

A guest costs its host no feature and no error: one that cannot be made here, or that fails, is left to its own stage,
which tells why.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from pipeline.core import record_sha256
from pipeline.extraction.task import Task, make_task
from pipeline.extraction.weights_content import sha256_now
from pipeline.params import Extract

_tasks: dict[str, list[Task]] = {}  # of this process
_lock = threading.Lock()


def guest_tasks(others: Mapping[str, Extract], *, device: str) -> list[Task]:
    """Those that can be made here; made once, when a first video needs a pass."""
    key = _key(others, device)
    with _lock:
        if key not in _tasks:
            made = [_made(name, params, device=device) for name, params in others.items()]
            _tasks[key] = [task for task in made if task is not None]
        return _tasks[key]


def send_away(others: Mapping[str, Extract], *, device: str) -> None:
    """One of them failed in a way that no video is to blame for: this process has no guests any more."""
    with _lock:
        _tasks[_key(others, device)] = []


def _made(name: str, params: Extract, *, device: str) -> Task | None:
    try:
        return make_task(name, params, weights_sha256=sha256_now(params.weights), device=device)
    except Exception:  # noqa: BLE001 - whatever keeps it from being built, its own stage meets it too
        return None


def _key(others: Mapping[str, Extract], device: str) -> str:
    return record_sha256([device, {name: params.model_dump() for name, params in others.items()}])
