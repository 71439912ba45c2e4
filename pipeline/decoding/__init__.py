"""Decoding that can be trusted: frames, sound and facts about a video, from a child process that can be killed.

A path or URL goes in; frames in presentation order, sound, or a reason why not come out. The stage `decode` writes the
video index; what an examination found is kept in the cache. Nothing else is written.
"""

from pipeline.core.door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
