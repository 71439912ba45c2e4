"""The page: all that the stages left goes in, one HTML file with its data comes out.

It reads files only, computes no score and imports no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
