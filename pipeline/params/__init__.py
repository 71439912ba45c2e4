"""`params.yaml`: what changes results, one module per section, named like its stage.

Text of the user goes in; frozen, closed, checked sections come out. Unknown keys and wrong types are errors.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
