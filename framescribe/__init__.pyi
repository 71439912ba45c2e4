from .caption_scores import CaptionScores as CaptionScores, score as score
from .own_features import extract as extract
from .own_runs import Run as Run, VideoCaption as VideoCaption, VideoCaptions as VideoCaptions, open_run as open_run
from .public_names import (
    FramescribeError as FramescribeError,
    Rows as Rows,
    Store as Store,
    VideoFeatures as VideoFeatures,
    open_store as open_store,
)
from .store_dataset import StoreDataset as StoreDataset, pad_and_mask as pad_and_mask
