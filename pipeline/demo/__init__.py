"""The demo set: a seed goes in; short clips with sound, captions and slices come out."""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
