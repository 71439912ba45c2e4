"""Runs that are carried away: one file with all that captions a video, its model card, and the way back into a run."""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
