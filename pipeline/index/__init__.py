"""The video index, `data/index`: per video its checksum, true frames, presentation times, sound and decoder.

`decode` writes it; `extract`, `assemble` and `report` read it. It imports no decoder and no torch.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
