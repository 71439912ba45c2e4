from .feature_cache import (
    DAY as DAY,
    CachedFeatures as CachedFeatures,
    clear_unfinished as clear_unfinished,
    collect as collect,
    entries as entries,
    entry_path as entry_path,
    get_features as get_features,
    put_features as put_features,
)
from .graph_cache import remembered as remembered
from .speeds import frames_per_second as frames_per_second, note_speed as note_speed
