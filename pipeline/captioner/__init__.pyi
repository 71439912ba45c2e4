from .batches import (
    CaptionBatch as CaptionBatch,
    FeatureBatches as FeatureBatches,
    FeatureSource as FeatureSource,
    TrainingPairs as TrainingPairs,
    open_features as open_features,
    padded as padded,
    training_pairs as training_pairs,
)
from .build_model import build_captioner as build_captioner, inputs_of as inputs_of, require_stages as require_stages
from .checkpoint import (
    load_model as load_model,
    load_tensors as load_tensors,
    save_model as save_model,
    save_tensors as save_tensors,
)
from .generate import BATCH as BATCH, GeneratedCaption as GeneratedCaption, caption_videos as caption_videos
from .sampled_captions import SampleSearch as SampleSearch, forced as forced
from .search import (
    CaptionSearch as CaptionSearch,
    Hypothesis as Hypothesis,
    Search as Search,
    beam_search as beam_search,
    beam_sentences as beam_sentences,
    greedy as greedy,
    sample as sample,
)
from .teacher_forcing import make_loss_context as make_loss_context, mask_special_tokens as mask_special_tokens
from .trained_run import TrainedRun as TrainedRun, open_run as open_run, steady_arithmetic as steady_arithmetic
