"""What training and captioning share: the model, its batches, teacher forcing, beam search, trained runs.

The arithmetic of the models themselves is in `models/`.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
