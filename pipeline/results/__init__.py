"""What training and captioning leave behind, read without torch: run records, predictions, attention maps.

It touches `runs/*/run.json` and `predictions/`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
