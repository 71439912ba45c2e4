from . import extract as extract
from .disk_estimate import estimate as estimate, planned_task as planned_task, shortages as shortages
from .extract import extract_features as extract_features
from .forward_pass import batch_of as batch_of, forward as forward
from .sampling import SampledRows as SampledRows, every as every, sample as sample, uniform as uniform
