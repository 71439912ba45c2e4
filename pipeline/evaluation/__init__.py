"""Scores: predictions and references go in; metrics with intervals, comparisons and attention-mask curves come out.

It writes `metrics/` and `evaluation/`. The scorers that training needs too are in `metrics`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
