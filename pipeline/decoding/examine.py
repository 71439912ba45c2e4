"""Examining a video: PyAV decodes every frame once, then another backend must show the same pixels to be trusted."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.core import DecodeError
from pipeline.decoding import decord, pyav, torchcodec
from pipeline.decoding.audio import Sound
from pipeline.decoding.container import opened_container, stated_end, video_stream
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile

AUDIO_RATE = 16000  # of the examination; any rate would do to find out whether there is sound
READ_AHEAD_BYTES = 512 << 20  # decord may hold a whole decoded video in memory: larger ones are PyAV's
FALLBACK_RATE = 25.0  # frames per second when neither times nor the header give any

Beat = Callable[[], None]
JUDGED = {"decord": decord.read, "torchcodec": torchcodec.read}


def examine(file: OpenedFile, *, backend: str, limits: Limits, beat: Beat) -> Iterator[dict[str, Any]]:
    """First PyAV's facts, then the backend: a decoder that dies over the second has not lost the first."""
    facts, digests = examine_with_pyav(file, limits=limits, beat=beat, digested=backend in JUDGED)
    yield {"facts": facts}
    objection = _objection(facts, backend)
    yield {"trying": backend} if not objection else {"backend": "pyav", "why": objection}
    if not objection:
        difference = compare(file, backend, digests=digests, beat=beat)
        yield {"backend": "pyav" if difference else backend, "why": difference or "equals PyAV on every frame"}


def examine_with_pyav(
    file: OpenedFile, *, limits: Limits, beat: Beat, digested: bool = True
) -> tuple[dict[str, Any], list[int]]:
    """What PyAV finds by decoding everything: JSON-ready facts, and a checksum of every frame's pixels.

    Without checksums only the first picture of each pixel format becomes RGB: whether that can be done is a fact too.
    """
    tally = pyav.Tally()
    stamps: list[float | None] = []  # presentation times (PTS)
    digests: list[int] = []
    broken = 0
    converter: pyav.RgbConverter | None = None
    formats: set[str] = set()  # seen as RGB
    with opened_container(file) as container:
        stream = video_stream(container, path=file.path, limits=limits)
        for frame in pyav.frames_in_order(container, stream, path=file.path, threads=1, tally=tally):
            converter = converter or pyav.RgbConverter(pyav.turn_of(frame), frame.width, frame.height)
            if digested or frame.format.name not in formats:
                formats.add(frame.format.name)
                pixels = converter.rgb(frame)
                digests += [_digest(pixels)] if digested else []
            stamps.append(frame.time)
            broken += bool(frame.is_corrupt)
            beat()
        if converter is None:
            raise DecodeError("no-frames", f"'{file.path}' opens, but no frame can be decoded{_first(tally.failures)}")
        header = _header(container, stream, frame)
    height, width = pixels.shape[:2]
    facts = {"frames": len(stamps), "width": width, "height": height, "corrupt_frames": broken}
    facts |= header | _tally(tally) | _times(stamps, rate=header["rate"], last=header["last"])
    return facts | examine_audio(file, start=facts["start"], beat=beat), digests


def examine_audio(file: OpenedFile, *, start: float, beat: Beat) -> dict[str, Any]:
    """Whether there is sound, from when to when in seconds after the first frame, and how loud."""
    sound = Sound(file, rate=AUDIO_RATE)
    samples, peak = 0, 0.0
    for block in sound.blocks():
        samples += len(block)
        peak = max(peak, float(np.abs(block).max(initial=0.0)))
        beat()
    if not samples:
        state = "unreadable" if sound.found else "absent"
        return {"audio": state, "audio_start": 0.0, "audio_end": 0.0, "audio_peak": 0.0, "audio_failures": 0}
    begins = (sound.start or 0.0) - start
    ends = begins + samples / AUDIO_RATE
    facts = {"audio": "present", "audio_start": begins, "audio_end": ends, "audio_peak": min(peak, 1.0)}
    return facts | {"audio_failures": len(sound.failures)}


def compare(file: OpenedFile, backend: str, *, digests: list[int], beat: Beat) -> str:
    """How a backend's frames differ from PyAV's; nothing when every pixel of every frame is equal."""
    seen = 0
    try:
        for number, pixels in enumerate(JUDGED[backend](file, wanted=list(range(len(digests) + 1)), threads=1)):
            beat()
            if number >= len(digests):
                return f"{backend} shows more frames than the {len(digests)} there are"
            if pixels is None or pixels.ndim != 3 or _digest(pixels) != digests[number]:
                return f"{backend} shows other pixels in frame {number}"
            seen = number + 1
    except DecodeError as error:
        return error.message.replace(f" '{file.path}'", "")
    return "" if seen == len(digests) else f"{backend} shows {seen} frames of {len(digests)}"


def _objection(facts: dict[str, Any], backend: str) -> str:
    """Why PyAV reads and nothing else is tried."""
    if backend not in JUDGED:
        return "decode.backend is pyav"
    if facts["failures"] or facts["corrupt_packets"] or facts["corrupt_frames"]:
        return "the file is damaged"
    return _objection_to_decord(facts) if backend == "decord" else ""


def _objection_to_decord(facts: dict[str, Any]) -> str:
    """Each of these made it hang, abort, invent frames or fill the memory."""
    frames = facts["frames"]
    if facts["packets"] != frames:
        return f"{facts['packets']} packets give {frames} frames: decord hangs or invents frames"
    if facts["header"] > 2 * frames:
        return f"the header states {facts['header']} frames: decord reserves memory for them"
    if frames * facts["width"] * facts["height"] * 3 > READ_AHEAD_BYTES:
        return "decord reads ahead without bound and the video is large"
    return ""


def _header(container: Any, stream: Any, frame: Any) -> dict[str, Any]:
    """What the file says about itself."""
    rate = finite(float(stream.average_rate or stream.guessed_rate or FALLBACK_RATE)) or FALLBACK_RATE
    last = float(frame.duration * frame.time_base) if frame.duration and frame.time_base else 0.0
    return {
        "rate": rate,
        "last": finite(last) or 0.0,  # seconds that the last frame is shown
        "header": stream.frames,
        "entries": len(stream.index_entries),
        "size": max(container.size, 0),
        "video_streams": len(container.streams.video),
        "stream": stream.index,
        **stated_end(container, stream),
    }


def _tally(tally: pyav.Tally) -> dict[str, Any]:
    counts = {"packets": tally.packets, "discarded": tally.discarded, "corrupt_packets": tally.corrupt}
    return counts | {"failures": len(tally.failures)}


def _times(stamps: list[float | None], *, rate: float, last: float) -> dict[str, Any]:
    """Seconds from the first frame, never decreasing; a frame without a time follows its neighbour at the rate."""
    known = [finite(time) for time in stamps]
    shown: list[float] = []
    for time in known:
        shown.append(time if time is not None else (shown[-1] + 1 / rate if shown else 0.0))
    times = np.array(shown) - shown[0]
    ordered = np.maximum.accumulate(times)
    missing = sum(time is None for time in known)
    repaired = missing + int((ordered != times).sum())
    duration = float(ordered[-1]) + (last or 1 / rate)
    return {"times": ordered.tolist(), "start": shown[0], "duration": duration, "repaired_times": repaired}


def finite(value: float | None) -> float | None:
    """A number, or nothing: a broken time base gives times that are none, which JSON cannot hold."""
    return value if value is not None and math.isfinite(value) else None


def _digest(pixels: np.ndarray) -> int:
    """A checksum that also depends on the shape: the height is where it starts from."""
    return zlib.crc32(np.ascontiguousarray(pixels).data, pixels.shape[0])


def _first(failures: list[str]) -> str:
    return f" ({failures[0]})" if failures else ""
