"""The corpus, `data/captions`: captions per video, splits, slices, and the vocabulary with its tokeniser.

`assemble` writes it; training, captioning, evaluation and the report read it. It imports no torch.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
