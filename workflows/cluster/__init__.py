"""dask: a profile goes in; workers that compute what a stage maps over its videos come out.

It starts clusters, checks and secures them, and replaces lost workers. It changes no result; no stage depends on it.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
