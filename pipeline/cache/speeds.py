"""How fast features were computed, kept in the cache: a fact about a machine, so no store and no fingerprint has it."""

from __future__ import annotations

from pipeline.core import FramescribeError, cache_folder, read_sealed_json, write_sealed_json


def note_speed(fingerprint_sha256: str, *, videos: int, frames: int, seconds: float) -> None:
    """Of the videos that were really computed; those that the cache had took no time."""
    if videos and seconds > 0:
        speed = {"videos": videos, "frames": frames, "seconds": round(seconds, 3)}
        write_sealed_json(cache_folder("speeds") / f"{fingerprint_sha256}.json", speed)


def frames_per_second(fingerprint_sha256: str) -> float | None:
    """Frames of the videos, not rows of the store, by wall-clock time; None where it was never measured here."""
    path = cache_folder("speeds") / f"{fingerprint_sha256}.json"
    try:
        speed = read_sealed_json(path, hint="")
        return float(speed["frames"]) / float(speed["seconds"])
    except (FramescribeError, ZeroDivisionError):  # not there, damaged, or too short: it is not worth an error
        return None
