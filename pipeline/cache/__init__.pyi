from .cache_claims import claimed as claimed
from .cache_usage import show_collection as show_collection, show_usage as show_usage
from .feature_cache import (
    CachedFeatures as CachedFeatures,
    clear_unfinished as clear_unfinished,
    entry_path as entry_path,
    get_features as get_features,
    note_use as note_use,
    put_features as put_features,
)
from .graph_cache import remembered as remembered
from .notes import noted as noted
from .shard_cache import CachedShards as CachedShards, forget_shards as forget_shards
from .speeds import frames_per_second as frames_per_second, note_speed as note_speed
