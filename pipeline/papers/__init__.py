"""The papers' experiments: recipes that become params, what they need, and their published tables beside our runs.

It reads `workflows/papers` and rewrites `params.yaml` when asked.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
