"""The papers' experiments: recipes that become params, what they need, and their published tables beside our runs.

It reads `workflows/papers` and rewrites `params.yaml` when asked.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
