"""The sharded feature store: safetensors shards plus `store.json`, read by video id through mmap.

Features per video go in, a folder or URL of shards comes out, and the other way round; only that folder or URL is
written. A video's shard is chosen by the hash of its id and keys are sorted inside a shard, so the bytes of a store
depend on its content only: not on workers, order or how often a run was resumed. docs/feature-store.md has the format.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
