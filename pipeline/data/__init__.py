"""What is known of videos and captions: the video index, the corpus with its splits, the vocabulary.

`decode` and `assemble` write these files, all later stages read them. It touches `data/` and imports no torch.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
