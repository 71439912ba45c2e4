from .attention_maps import (
    AttentionMaps as AttentionMaps,
    attention_maps_path as attention_maps_path,
    halved as halved,
    read_attention_maps as read_attention_maps,
    without_attention as without_attention,
    write_attention_maps as write_attention_maps,
)
from .predictions import captions_of as captions_of, read_run_predictions as read_run_predictions
from .run_record import FEATURES as FEATURES, read_record as read_record, state_of as state_of
from .seed_groups import common_name as common_name, groups_of_seeds as groups_of_seeds, siblings as siblings
