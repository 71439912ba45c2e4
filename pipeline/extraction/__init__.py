"""Features: an entry of `extract` and the video index go in, a feature store comes out.

It builds the extractor, samples and decodes each video once, runs the forward pass, and keeps the rows in the cache.
The networks themselves are in `extractors/`.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
