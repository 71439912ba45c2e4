"""Predictions, `predictions/`: one caption per video, and beside them the attention maps of their words.

`caption` writes them; `evaluate` and `report` read them. It imports no torch.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
