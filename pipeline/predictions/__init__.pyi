from .attention_maps import (
    AttentionMaps as AttentionMaps,
    attention_maps_path as attention_maps_path,
    halved as halved,
    read_attention_maps as read_attention_maps,
    without_attention as without_attention,
    write_attention_maps as write_attention_maps,
)
from .prediction_file import (
    captions_of as captions_of,
    read_prediction_file as read_prediction_file,
    read_run_predictions as read_run_predictions,
)
