"""Why a file cannot be used: a closed list of codes, each with the sentence that docs and tables show."""

from __future__ import annotations

from pipeline.core.errors import FramescribeError

REASONS = {
    "missing": "there is no such file, or a link leads nowhere",
    "not-a-file": "a folder, fifo, device, socket or a loop of links; it was not opened",
    "unreadable": "the file system refused to give its bytes",
    "empty": "the file has no bytes",
    "not-a-video": "no video container is recognised in the bytes; playlists and still pictures are not taken",
    "no-video-stream": "only sound, or a cover picture, or a codec without a decoder",
    "too-large": "a frame has more pixels than max_pixels; nothing was decoded",
    "no-frames": "the container opens, but not one frame can be decoded",
    "size-changes": "the picture changes its size within the stream",
    "fewer-frames": "the file now has fewer frames than its row in the index states",
    "changed": "the file is not the one that was indexed, or it changed while it was read",
    "bad-times": "its presentation times are no numbers, or so far apart that they give absurdly many rows",
    "unsupported": "the decoder's library cannot take what the file holds",
    "timeout": "the decoder stalled or took longer than the time limit, and was killed",
    "memory": "the decoder needed more than max_memory_mb",
    "crash": "native code ended the decoder's process",
    "not-finite": "an extractor's features are NaN or infinite; the message says in which tensor and what to choose",
    "worker-lost": "every worker of a cluster that tried it was lost, or it took longer than the profile's time_limit",
}
# not due to content alone
TRANSIENT = frozenset(
    {"missing", "not-a-file", "unreadable", "changed", "unsupported", "timeout", "memory", "crash", "worker-lost"}
)


class DecodeError(FramescribeError):
    """One video cannot be decoded; `reason` is a key of REASONS."""

    exit_code = 3

    def __init__(self, reason: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
