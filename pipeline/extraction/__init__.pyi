from . import extract as extract
from .build_extractor import (
    extractor_of as extractor_of,
    planned_outputs as planned_outputs,
    takes_batches as takes_batches,
)
from .disk_estimate import estimate as estimate, planned_task as planned_task, shortages as shortages
from .extract import extract_features as extract_features
from .extract_array import features_of_array as features_of_array
from .extract_video import ExtractVideo as ExtractVideo
from .forward_pass import batch_of as batch_of, forward as forward
from .published_checks import check_extractors as check_extractors
from .rows_told import rows_told as rows_told
from .sampling import SampledRows as SampledRows, every as every, sample as sample, uniform as uniform
