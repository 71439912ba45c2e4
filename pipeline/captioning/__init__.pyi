from .alternatives import Alternatives as Alternatives, alternatives_of as alternatives_of
from .any_video import (
    AnyVideoSettings as AnyVideoSettings,
    Captioned as Captioned,
    caption_own_videos as caption_own_videos,
    without_loops as without_loops,
)
from .caption import caption_named_runs as caption_named_runs
from .caption_model import JoinedSource as JoinedSource
from .challenge_file import write_submission as write_submission
from .extractable import require_extractable as require_extractable
from .fusion import fuse as fuse, fuse_runs as fuse_runs
from .reranker import RerankerSettings as RerankerSettings, train_reranker as train_reranker
