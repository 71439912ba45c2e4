"""Tools for whole stores: verify, repair, compare, export to and import from other formats.

Stores and foreign files go in; stores, files and findings come out. No stage uses it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
