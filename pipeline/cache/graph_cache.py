"""Exported graphs, kept by content: an export takes from ten seconds to a minute, and every worker needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.cache.feature_cache import graph_path, note_use, unfinished
from pipeline.core import DamageError, record_sha256
from pipeline.store import TensorFile, spec_of, write_tensors


def remembered(record: dict[str, Any], make: Callable[[], bytes]) -> bytes:
    """The graph that `record` describes, from the cache where it is whole, else made and kept."""
    path = graph_path(record_sha256(record))
    try:
        found = TensorFile(path)["graph"].tobytes()
    except DamageError:
        graph = np.frombuffer(make(), np.uint8)
    else:
        note_use(path)
        return found
    write_tensors(path, {"graph": spec_of(graph)}, {"graph": graph}.__getitem__, temporary_folder=unfinished())
    return graph.tobytes()
