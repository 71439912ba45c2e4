"""What training and captioning leave behind, read without torch: run records, predictions, attention maps.

It touches `runs/*/run.json` and `predictions/`.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
