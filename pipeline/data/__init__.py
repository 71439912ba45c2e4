"""What is known of videos and captions: the video index, the corpus with its splits, the vocabulary.

`decode` and `assemble` write these files, all later stages read them. It touches `data/` and imports no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
