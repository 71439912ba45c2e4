"""Scores: predictions and references go in; metrics with intervals, comparisons and attention-mask curves come out.

It writes `metrics/` and `evaluation/`. The scorers that training needs too are in `metrics`.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
