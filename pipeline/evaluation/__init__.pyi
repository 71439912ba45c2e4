from .attention_mask import mask_curves as mask_curves
from .bootstrap import RESAMPLES as RESAMPLES, Difference as Difference, compare as compare, intervals as intervals
from .compare_runs import (
    compare_sides as compare_sides,
    evaluated_sides as evaluated_sides,
    scored_sides as scored_sides,
)
from .comparison import compare_evaluations as compare_evaluations
from .evaluate import evaluate_runs as evaluate_runs
from .file_scores import METRICS as METRICS, evaluate_files as evaluate_files
from .prediction_files import read_predictions as read_predictions
from .record import Evaluation as Evaluation, read_evaluation as read_evaluation
from .references import read_references as read_references
from .scorer import CaptionScorer as CaptionScorer
from .scoring import score as score, score_all as score_all
from .statistics import Statistics as Statistics
from .tokenizer import tokenize as tokenize
from .toolkit import MetricSettings as MetricSettings
