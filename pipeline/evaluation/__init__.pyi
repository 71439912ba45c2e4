from .attention_mask import mask_curves as mask_curves
from .ballot import (
    Ballot as Ballot,
    Pair as Pair,
    VoteKey as VoteKey,
    draw_ballot as draw_ballot,
    key_beside as key_beside,
    write_key as write_key,
)
from .bootstrap import RESAMPLES as RESAMPLES, Difference as Difference, compare as compare, intervals as intervals
from .compare_runs import (
    compare_sides as compare_sides,
    evaluated_sides as evaluated_sides,
    scored_sides as scored_sides,
)
from .comparison import compare_evaluations as compare_evaluations
from .evaluate import evaluate_runs as evaluate_runs
from .file_scores import METRICS as METRICS, evaluate_files as evaluate_files, score_captions as score_captions
from .prediction_files import predictions_of as predictions_of, read_predictions as read_predictions
from .record import Evaluation as Evaluation, read_evaluation as read_evaluation
from .references import read_references as read_references, references_of as references_of
from .scorer import CaptionScorer as CaptionScorer
from .scoring import score as score, score_all as score_all
from .spice import spice_folder as spice_folder
from .statistics import Statistics as Statistics
from .tokenizer import tokenize as tokenize
from .toolkit import MetricSettings as MetricSettings
from .votes import count_votes as count_votes
