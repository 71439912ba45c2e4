"""Data sets: from their own annotation files to splits of video ids with captions.

The stage `assemble` matches them with the video index and writes `data/captions` and the store of classes; choosing a
data set rewrites its section of params.yaml.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
