"""Features as Arrow columns, one row a video, which Parquet and Lance files are made of.

A tensor is a list of its rows, and a row a list of the fixed lengths of its shape: numbers keep their type and bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.core import MissingToolError, UsageError
from pipeline.store import Output, Store, outputs_of, rows_of
from pipeline.store_tools.export_names import file_stem

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

BATCH_BYTES = 64_000_000  # of videos that are in memory at once, and in one row group of a file


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingToolError(
            "Parquet needs the package pyarrow, which is not installed", hint="pip install 'framescribe[parquet]'"
        ) from error
    return pyarrow


def empty_table(store: Store) -> pyarrow.Table:
    """The columns, as of a store without videos."""
    return _table([], outputs_of(store.manifest))


def batches(store: Store, video_ids: Iterable[str]) -> Iterator[pyarrow.Table]:
    """The videos in this order, some at a time."""
    outputs = outputs_of(store.manifest)
    waiting: list[tuple[str, dict[str, np.ndarray]]] = []
    size = 0
    for video_id in video_ids:
        parts = store[video_id].parts()
        waiting.append((file_stem(video_id), parts))
        size += sum(array.nbytes for array in parts.values())
        if size >= BATCH_BYTES:
            yield _table(waiting, outputs)
            waiting, size = [], 0
    if waiting:
        yield _table(waiting, outputs)


def lance_table(table: pyarrow.Table, split: str) -> pyarrow.Table:
    """With the column `split`, and underscores in names: Lance takes a dot for a field within a field."""
    names = [name.replace(".", "_") for name in table.column_names]
    if len({*names, "split"}) <= len(table.column_names):
        raise UsageError(f"two of these names are one in Lance: {', '.join(table.column_names)}", hint="use parquet")
    return table.rename_columns(names).append_column("split", arrow().array([split] * len(table), arrow().string()))


def _table(videos: Sequence[tuple[str, dict[str, np.ndarray]]], outputs: dict[str, Output]) -> pyarrow.Table:
    nothing = {name: np.empty((0, *output.shape), output.dtype) for name, output in outputs.items()}
    columns = nothing | {f"rows.{name}": array for name, array in rows_of(0).columns().items()}
    ids = arrow().array([stem for stem, _ in videos], arrow().string())
    lists = {name: _lists([empty, *(parts[name] for _, parts in videos)]) for name, empty in columns.items()}
    return arrow().table({"id": ids, **lists})


def _lists(arrays: Sequence[np.ndarray]) -> pyarrow.Array:
    """One list for each array but the first, which has no rows and gives the type."""
    ends = np.cumsum([len(array) for array in arrays])
    return arrow().ListArray.from_arrays(arrow().array(ends, arrow().int32()), _nested(np.concatenate(arrays)))


def _nested(rows: np.ndarray) -> pyarrow.Array:
    """(R, a, b) as R lists of a lists of b numbers."""
    found = arrow().array(np.ascontiguousarray(rows).reshape(-1))
    for size in reversed(rows.shape[1:]):
        found = arrow().FixedSizeListArray.from_arrays(found, size)
    return found
