"""What this machine has, what is missing, what that blocks and how to fix it.

Each probe of a library runs in a process of its own.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
