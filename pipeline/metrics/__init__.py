"""The metrics themselves: BLEU, ROUGE-L, CIDEr-D as counts and vectors, METEOR by its own jar.

Tokenised captions go in, scores come out; no file is read or written.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
