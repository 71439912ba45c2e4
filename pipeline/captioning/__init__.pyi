from .any_video import AnyVideoSettings as AnyVideoSettings, Captioned as Captioned, caption_own as caption_own
from .caption import caption_runs as caption_runs
from .caption_model import JoinedSource as JoinedSource
from .fusion import fuse as fuse, read_candidates as read_candidates
from .reranker import Judge as Judge, RerankerSettings as RerankerSettings, train_judge as train_judge
