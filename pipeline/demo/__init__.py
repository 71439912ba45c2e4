"""The demo set: a seed goes in; short clips with sound, captions and slices come out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
