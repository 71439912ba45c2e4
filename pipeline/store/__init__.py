"""The sharded feature store: safetensors shards plus `store.json`, read by video id through mmap.

A video's shard is chosen by the hash of its id and keys are sorted inside a shard, so the bytes of a store
depend on its content only: not on workers, order or how often a run was resumed. docs/feature-store.md has the format.
"""

from pipeline.store.align import Aligned, align
from pipeline.store.features import ROW_COLUMNS, Rows, StoredFeatures, VideoFeatures, rows_of
from pipeline.store.manifest import Failure, shard_count, shard_of
from pipeline.store.reader import Store, open_store
from pipeline.store.writer import write_store

__all__ = [
    "ROW_COLUMNS",
    "Aligned",
    "Failure",
    "Rows",
    "Store",
    "StoredFeatures",
    "VideoFeatures",
    "align",
    "open_store",
    "rows_of",
    "shard_count",
    "shard_of",
    "write_store",
]
