"""`params.yaml`: what changes results, one module per section, named like its stage.

Text of the user goes in; frozen, closed, checked sections come out. Unknown keys and wrong types are errors.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
