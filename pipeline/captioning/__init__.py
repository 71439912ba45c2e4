"""Captioning: runs and videos go in; captions with log probabilities and attention maps come out.

Of a split, of any video file, by one run, by an ensemble, or chosen among several runs by a reranker.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
