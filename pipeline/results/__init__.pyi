from .attention_maps import (
    Looks as Looks,
    halved as halved,
    looks_path as looks_path,
    read_looks as read_looks,
    without_looks as without_looks,
    write_looks as write_looks,
)
from .predictions import captions_of as captions_of, read_run_predictions as read_run_predictions
from .run_record import FEATURES as FEATURES, read_record as read_record, state_of as state_of
from .seed_groups import common_name as common_name, groups_of_seeds as groups_of_seeds, siblings as siblings
