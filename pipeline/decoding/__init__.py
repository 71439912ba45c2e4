"""Decoding that can be trusted: frames, sound and facts about a video, from a child process that can be killed.

A path goes in; frames in decode order, sound, or a reason why not come out. The stage `decode` writes the video index.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
