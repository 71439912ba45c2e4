"""What to do about a clip that cannot be used, by the reason of the quarantine."""

from __future__ import annotations

from pipeline.core import REASONS

_AGAIN = "Write it again with a tool you trust, for example: ffmpeg -i CLIP -c:v libx264 -c:a aac NEW.mp4"
_INDEX = "The project's index names another file than is there: framescribe decode makes a new one."
_ADVICE = {
    "empty": "The file has no bytes: copy or download it again.",
    "not-a-video": "Open it in a player. If it does not play there, it is no video, or half of one: get it again.",
    "no-video-stream": "It holds sound or a still picture only. Take a file with a picture that moves.",
    "too-large": "Make it smaller (ffmpeg -i CLIP -vf scale=1280:-2 NEW.mp4), or raise decode.max_pixels.",
    "no-frames": _AGAIN,
    "size-changes": _AGAIN,
    "bad-times": _AGAIN,
    "timeout": "Take a shorter clip, or raise decode.timeout or decode.stall in params.yaml.",
    "memory": "Take a smaller clip, or raise decode.max_memory_mb in params.yaml.",
    "crash": _AGAIN,
    "changed": "It changed while it was read. Wait until it is written, then ask again.",
    "unsupported": _AGAIN,
    "not-a-file": "Choose the video itself.",
    "unreadable": "Look whether its drive still answers and whether you may read it.",
    "fewer-frames": _INDEX,
    "not-finite": "The features of this clip are no numbers. The message says in which tensor and what to choose.",
    "worker-lost": "Ask again when the machine has less to do.",
    "missing": _INDEX,
}


def advice(reason: str) -> dict[str, str]:
    """The reason in a sentence, and the next step."""
    return {"meaning": REASONS.get(reason, ""), "advice": _ADVICE.get(reason, "")}
