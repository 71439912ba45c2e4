"""The page: all that the stages left goes in, one HTML file with its data comes out.

It reads files only, computes no score and imports no torch.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
