"""Features: an entry of `extract` and the video index go in, a feature store comes out.

One video goes: extract > extract_video > (cache) > sampling > forward_pass or audio_features > (cache) > the store.
build_extractor makes the network ready before, fingerprint says what decides its numbers. The networks themselves are
in `extractors/`; besides the cache and the stores nothing is written.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
