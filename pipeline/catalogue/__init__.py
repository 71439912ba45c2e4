"""What can be extracted: families by name, and cards with the entry that a paper asks for.

Names go in; modules, cards and tables come out. Reading the cards imports no network library, and only adding one
writes, to params.yaml.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
