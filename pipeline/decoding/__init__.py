"""Decoding that can be trusted: frames, sound and facts about a video, from a child process that can be killed."""

from pipeline.decoding.limits import Limits
from pipeline.decoding.reader import Audio, inspect_video, read_audio, read_frames
from pipeline.decoding.reasons import REASONS, DecodeError

__all__ = ["REASONS", "Audio", "DecodeError", "Limits", "inspect_video", "read_audio", "read_frames"]
