from .attention_maps import (
    AttentionMaps as AttentionMaps,
    attention_maps_path as attention_maps_path,
    halved as halved,
    read_attention_maps as read_attention_maps,
    without_attention as without_attention,
    write_attention_maps as write_attention_maps,
)
from .id_list import read_ids as read_ids
from .names import (
    FUSED as FUSED,
    caption_command as caption_command,
    evaluate_command as evaluate_command,
    parse_name as parse_name,
    prediction_name as prediction_name,
)
from .prediction_file import (
    captions_of as captions_of,
    read_prediction_file as read_prediction_file,
    read_run_predictions as read_run_predictions,
)
from .prediction_origin import (
    FUSION as FUSION,
    origin_path as origin_path,
    read_origin as read_origin,
    write_caption_origin as write_caption_origin,
    write_fusion_origin as write_fusion_origin,
)
