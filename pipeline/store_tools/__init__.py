"""Tools for whole stores: list, verify, repair, compare, estimate, copy, export to and import from other formats.

Names of stores and foreign files go in; stores, files and tables of findings come out. No stage uses it.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
