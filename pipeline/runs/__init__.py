"""Trained runs, `runs/`: what a run says of itself, and which runs differ only by their seed.

Read without torch; the weights are opened by `captioner`.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
