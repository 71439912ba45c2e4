"""What pages show of a project's files: stores and their rows, captions, pairs of runs, logs and disks. No web in it.

Everything comes in pages of a bounded size, and a name is looked up in a listing, never joined to a path.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
