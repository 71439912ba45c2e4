"""Data sets: from their own annotation files to splits of video ids with captions.

The stage `assemble` matches them with the video index and writes `data/captions` and the store of classes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
