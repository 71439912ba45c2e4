from .batches import (
    CaptionBatch as CaptionBatch,
    FeatureSource as FeatureSource,
    Source as Source,
    TrainingPairs as TrainingPairs,
    open_features as open_features,
    training_pairs as training_pairs,
)
from .build_model import build_captioner as build_captioner, inputs_of as inputs_of, require_stages as require_stages
from .checkpoint import load_model as load_model, save_model as save_model, tensor_bytes as tensor_bytes
from .generate import BATCH as BATCH, Said as Said, caption_videos as caption_videos
from .lessons import make_lesson as make_lesson
from .search import Sentence as Sentence, beam_search as beam_search, greedy as greedy, sample as sample
from .teacher_forcing import allowed as allowed
from .trained_run import Run as Run, open_run as open_run, steady_arithmetic as steady_arithmetic
