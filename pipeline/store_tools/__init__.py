"""Tools for whole stores: verify, repair, compare, export to and import from other formats.

Stores and foreign files go in; stores, files and findings come out. No stage uses it.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
