from .run_record import FEATURES as FEATURES, read_record as read_record, state_of as state_of
from .seed_groups import common_name as common_name, groups_of_seeds as groups_of_seeds, siblings as siblings
