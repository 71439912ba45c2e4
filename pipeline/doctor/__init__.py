"""What this machine has, what is missing, what that blocks and how to fix it.

Each probe of a library runs in a process of its own.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
