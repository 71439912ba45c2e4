"""The page of `framescribe serve`: captions clips, looks into the project and watches it, on this machine alone.

It uses what the commands use and writes into its own folder of the cache only, which goes when it stops.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
