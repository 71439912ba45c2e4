"""Training: captions and stores go in; a run with its weights, record and learning curve comes out.

One loop serves all captioners. Progress is kept in the cache, so that a killed run goes on where it stopped.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
