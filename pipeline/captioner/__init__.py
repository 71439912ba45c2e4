"""What training and captioning share: the model, its batches, teacher forcing, beam search, a run opened from disk.

The arithmetic of the models themselves is in `models/`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
