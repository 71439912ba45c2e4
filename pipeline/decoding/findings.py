"""From the facts of an examination to a row of the index, with its warnings in words."""

from __future__ import annotations

from typing import Any

from pipeline.decoding.backends import build_of
from pipeline.index import VideoRow

# seconds by which a whole file may end before what it states of the picture, and of everything in it
PICTURE_TOLERANCE, TOLERANCE = 0.1, 0.5
SMALLEST_PACKET = 8  # bytes; a header that promises more frames than the file could hold is not believed
WARNINGS = {
    "damaged": "packets failed to decode, or frames were repaired by guessing",
    "frames-lost": "the file promises more frames than could be decoded",
    "truncated": "the file says that it lasts longer than what could be decoded",
    "header-count": "the header states another number of frames than there are",
    "times-repaired": "frames had no time, or a time before that of the frame shown earlier",
    "several-streams": "the file has several video streams; the largest is used",
    "audio-damaged": "part of the sound failed to decode",
    "audio-unreadable": "there is a sound track, and nothing of it can be decoded",
}


def row_from(facts: dict[str, Any], *, video_id: str, path: str, sha256: str) -> VideoRow:
    lost = frames_lost(facts)
    return VideoRow(
        id=video_id,
        path=path,
        sha256=sha256,
        frames=facts["frames"],
        width=facts["width"],
        height=facts["height"],
        fps=facts["frames"] / facts["duration"],
        duration=facts["duration"],
        audio=facts["audio"],
        backend=facts["backend"],
        warnings=tuple(f"{code}: {text}" for code, text in _warnings(facts, lost).items()),
        why=facts["why"],
        lost=lost,
        start=facts["start"],
        audio_start=facts["audio_start"],
        audio_end=facts["audio_end"],
        audio_peak=facts["audio_peak"],
        build=build_of(facts["backend"]),
    )


def frames_lost(facts: dict[str, Any]) -> int:
    """Promised minus decoded. Packets and the container's own table are believed; a bare header only beside damage."""
    promised = max(facts["packets"], facts["entries"])
    plausible = facts["header"] * SMALLEST_PACKET <= facts["size"]
    if _is_damaged(facts) and plausible:
        promised = max(promised, facts["header"])
    return max(0, promised - facts["discarded"] - facts["frames"])


def seconds_missing(facts: dict[str, Any]) -> float:
    """Between the last frame and the end that the file states; the sound may last longer than the picture."""
    ends, sound_ends = facts["duration"], facts["audio_end"]
    frame = 1 / facts["rate"]
    stated = facts["picture_ends"] - facts["start"]
    if stated - ends > max(PICTURE_TOLERANCE, 2 * frame):
        return stated - ends
    stated = facts["all_ends"] - facts["start"]
    return stated - ends if stated - max(ends, sound_ends) > max(TOLERANCE, 2 * frame) else 0.0


def _is_damaged(facts: dict[str, Any]) -> bool:
    return bool(facts["failures"] or facts["corrupt_frames"] or facts["corrupt_packets"])


def _warnings(facts: dict[str, Any], lost: int) -> dict[str, str]:
    frames, header = facts["frames"], facts["header"]
    found = {}
    if _is_damaged(facts):
        packets = f"{facts['failures']} packets failed, {facts['corrupt_packets']} are marked corrupt"
        found["damaged"] = f"{packets}, {facts['corrupt_frames']} frames were repaired by guessing"
    if lost:
        found["frames-lost"] = f"{lost} of {frames + lost} could not be decoded"
    if not lost and (missing := seconds_missing(facts)):
        ends, rate = facts["start"] + facts["duration"], facts["rate"]
        about = f"the last {missing:.2f} s are missing, about {round(missing * rate)} frames"
        found["truncated"] = f"the file says that it lasts {ends + missing:.2f} s, it ends at {ends:.2f} s: {about}"
    if header and header - facts["discarded"] not in (frames, frames + lost):
        found["header-count"] = f"the header states {header} frames, {frames} were decoded"
    if facts["repaired_times"]:
        found["times-repaired"] = f"{facts['repaired_times']} frames had no usable time"
    if facts["video_streams"] > 1:
        found["several-streams"] = f"{facts['video_streams']} video streams, number {facts['stream']} is used"
    if facts["audio_failures"]:
        found["audio-damaged"] = f"{facts['audio_failures']} packets of sound failed"
    if facts["audio"] == "unreadable":
        found["audio-unreadable"] = "nothing of the sound track can be decoded"
    return found
