"""Machine profiles: which workers, on which device, how they are reached. Nothing here may change a result.

A name or a .yaml file goes in; a checked profile comes out.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
