from .features import (
    COLUMN_TYPES as COLUMN_TYPES,
    ROW_COLUMNS as ROW_COLUMNS,
    Rows as Rows,
    StoredFeatures as StoredFeatures,
    VideoFeatures as VideoFeatures,
    rows_of as rows_of,
)
from .finiteness import not_finite as not_finite
from .manifest import (
    FEATURES as FEATURES,
    MANIFEST as MANIFEST,
    SCHEMA as SCHEMA,
    Failure as Failure,
    Output as Output,
    expected_keys as expected_keys,
    failures_of as failures_of,
    outputs_of as outputs_of,
    read_manifest as read_manifest,
    shard_count as shard_count,
    shard_key as shard_key,
    shard_name as shard_name,
    shard_of as shard_of,
    whose_weights as whose_weights,
)
from .provenance import differences as differences, other_meaning as other_meaning
from .push_pull import pull as pull, push as push
from .reader import Store as Store, local_folder as local_folder, open_store as open_store
from .tensor_file import (
    Spec as Spec,
    TensorFile as TensorFile,
    Written as Written,
    header_of as header_of,
    order as order,
    spec_of as spec_of,
    write_tensors as write_tensors,
)
from .writer import Shard as Shard, members_of as members_of, write_store as write_store
