"""What can be extracted: families by name, and cards with the entry that a paper asks for.

Names go in; modules and cards come out. Reading the cards imports no network library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
