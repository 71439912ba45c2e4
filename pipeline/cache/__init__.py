"""The cache beside DVC: features per video, exported graphs, measured speeds; safe to delete at any time.

A key that is the hash of everything that decides the content goes in; the content, or nothing, comes out. It writes
only the cache folder and, where one is set, the shared cache.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
