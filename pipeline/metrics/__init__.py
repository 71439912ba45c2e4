"""The metrics themselves: BLEU, ROUGE-L, CIDEr-D as counts and vectors, METEOR by its own jar.

Tokenised captions go in, scores come out; no file is read or written.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
