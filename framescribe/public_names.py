"""What the rooms have already and is public as it is."""

from pipeline.core import FramescribeError as FramescribeError
from pipeline.store import (
    Rows as Rows,
    Store as Store,
    VideoFeatures as VideoFeatures,
    open_store as open_store,
)
