"""Machine profiles: which workers, on which device, how they are reached. Nothing here may change a result.

A name or a .yaml file goes in; a checked profile comes out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
